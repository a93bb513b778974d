/**
 * What a controller is made of. It makes the world what it should be, key by key: it is told which keys to look at,
 * never what happened to them, so that a missed, doubled or late notice does no harm.
 */
import type { InformerHandler } from "../../client/handler-queue.ts";
import type { Informer } from "../../client/informer.ts";
import { keyText, type KubernetesObject } from "../../client/objects.ts";
import { untilAborted } from "./until-aborted.ts";

export interface ReconcileResult {
  /** The key is to be looked at again after this time, whether or not something changes. */
  readonly requeueAfterMs?: number;
}

/** Never called twice at a time for one key. What it throws is logged, and the key tried again after a while. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult | undefined | void>;

/** Where keys come from. It is made for one term of leadership and runs once. */
export interface KeySource {
  /** Runs until aborted. */
  run(enqueue: (key: string) => void, signal: AbortSignal): Promise<void>;
  /** Whether every key there was at the start has been told. */
  readonly hasSynced: boolean;
}

export interface ControllerSpec {
  readonly name: string;
  /** How many keys are worked on at a time. Default 1. */
  readonly workers?: number;
  readonly reconcile: Reconcile;
  /** New ones for each term of leadership. Nothing is reconciled before all of them have synced. */
  sources(): readonly KeySource[];
}

/** Runs the informer, so nobody else may; its cache is there for whoever reconciles. */
export function handlerSource<T extends KubernetesObject>(
  informer: Informer<T>,
  handlerOf: (enqueue: (key: string) => void) => InformerHandler<T>,
): KeySource {
  let registration: { readonly hasSynced: boolean } | undefined;
  return {
    get hasSynced() {
      return registration?.hasSynced ?? false;
    },
    run(enqueue, signal) {
      registration = informer.addHandler(handlerOf(enqueue));
      return informer.run(signal);
    },
  };
}

/**
 * An update counts for the object as
 * it was too: what the object no longer points to has changed as well. Keys are by default "namespace/name".
 */
export function informerSource<T extends KubernetesObject>(
  informer: Informer<T>,
  toKeys: (object: T) => Iterable<string> = ownKey,
): KeySource {
  return handlerSource(informer, (enqueue) => {
    const tell = (object: T): void => {
      for (const key of toKeys(object)) enqueue(key);
    };
    return {
      onAdd: tell,
      onUpdate: (object, before) => {
        tell(before);
        tell(object);
      },
      onDelete: tell,
    };
  });
}

function ownKey({ metadata = {} }: KubernetesObject): string[] {
  return [keyText(metadata)];
}

/** For what changes outside the API: all of the keys at the start, and again whenever the listener is called. */
export function signalSource(subscribe: (listener: () => void) => () => void, keys: () => Iterable<string>): KeySource {
  let hasSynced = false;
  return {
    get hasSynced() {
      return hasSynced;
    },
    async run(enqueue, signal) {
      const tell = (): void => {
        for (const key of keys()) enqueue(key);
      };
      const unsubscribe = subscribe(tell);
      try {
        tell();
        hasSynced = true;
        await untilAborted(signal);
      } finally {
        unsubscribe();
      }
    },
  };
}

/**
 * The interfaces of a controller and its key sources. A controller receives keys to reconcile, never events, so a
 * missed, duplicate or late notification does no harm.
 */
import type { InformerHandler } from "../../client/handler-queue.ts";
import type { Informer } from "../../client/informer.ts";
import { keyText, type KubernetesObject } from "../../client/objects.ts";
import { untilAborted } from "../../base/until-aborted.ts";
import type { ReportedWait } from "./reported-waits.ts";

export interface ReconcileResult {
  /** The key is reconciled again after this time, even if nothing changes. */
  readonly requeueAfterMs?: number;
}

/** Never called concurrently for one key. An error is logged, and the key is retried after a delay. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult | undefined | void>;

/** A source of keys, created for one term of leadership. It runs once. */
export interface KeySource {
  /** Enqueues keys until the signal aborts. */
  run(enqueue: (key: string) => void, signal: AbortSignal): Promise<void>;
  /** Whether every key that existed at the start has been enqueued. */
  readonly hasSynced: boolean;
}

export interface ControllerSpec {
  readonly name: string;
  /** Maximum number of keys that are reconciled at the same time. Default 1. */
  readonly workers?: number;
  readonly reconcile: Reconcile;
  /** Creates new sources for each term of leadership. Nothing is reconciled before all of them have synced. */
  sources(): readonly KeySource[];
  /** The current waits of the controller. The leader publishes them. */
  waits?(): readonly ReportedWait[];
}

/**
 * A source that runs the informer and passes its notifications to a handler. No other code may run this informer, but
 * the reconcile function can read its cache.
 */
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
 * A source that enqueues the keys of changed objects, by default "namespace/name". An update also enqueues the keys of
 * the old object, because the objects that it no longer references are affected as well.
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

/** A source for changes outside the API: enqueues all keys at the start, and again whenever the listener is called. */
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

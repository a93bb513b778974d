/**
 * A local cache of one resource with notifications. Each handler sees a consistent history of each object (added,
 * updated any number of times, deleted), even if watches break and lists are repeated.
 */
import { sleep, type Clock } from "../base/clock.ts";
import type { Random } from "../base/random.ts";
import type { StoreEpoch } from "../base/store-epoch.ts";
import { HandlerQueue, type InformerHandler, type Notification } from "./handler-queue.ts";
import { keyText, type KubernetesObject, type ObjectKey, type SelectOptions } from "./objects.ts";
import { ObjectCache, type IndexFunction } from "./object-cache.ts";
import { Reflector, type ChangeEvent, type ListerWatcher } from "./reflector.ts";

export interface InformerSettings<T extends KubernetesObject> extends SelectOptions {
  /** How often handlers are notified of all objects again, as updates. Default: never. */
  readonly resyncMs?: number;
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** Called for failed requests that will be retried, and for errors of handlers. */
  readonly onError?: (thrown: unknown) => void;
}

interface InformerOptions<T extends KubernetesObject> extends InformerSettings<T> {
  readonly source: ListerWatcher<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly epoch?: StoreEpoch | undefined;
}

export interface HandlerRegistration {
  /**
   * Whether the handler has received all objects that existed when it was added or, if it was added before the first
   * list was complete, all objects of that list.
   */
  readonly hasSynced: boolean;
  /** Stops notifications. Resolves when the handler has returned from its current call. */
  remove(): Promise<void>;
}

export class Informer<T extends KubernetesObject = KubernetesObject> {
  readonly #options: InformerOptions<T>;
  readonly #reflector: Reflector<T>;
  readonly #cache: ObjectCache<T>;
  readonly #queues = new Set<HandlerQueue<T>>();
  #synced = Promise.withResolvers<boolean>();
  /** Called when the cache is complete for the first time. */
  readonly #onSync: (() => void)[] = [];
  #hasSynced = false;
  #isRunning = false;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#cache = new ObjectCache(options.indexes ?? {}, (thrown) => this.#report(thrown));
    const { source, clock, random, epoch, namespace, labelSelector, fieldSelector } = options;
    this.#reflector = new Reflector({
      source,
      clock,
      random,
      epoch,
      select: { namespace, labelSelector, fieldSelector },
      onError: (thrown) => this.#report(thrown),
      sink: {
        replace: (objects, isNewHistory) => this.#replace(objects, isNewHistory),
        apply: (key, event) => this.#apply(key, event),
      },
    });
  }

  /** Whether the cache has been complete at least once. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get resourceVersion(): string {
    return this.#reflector.resourceVersion;
  }

  /** Whether the cache was listed in the current history of the store. */
  get isOfCurrentHistory(): boolean {
    return this.#reflector.epoch === (this.#options.epoch?.current ?? 0);
  }

  /** Objects are shared with all callers, which must not change them. */
  get(key: ObjectKey): T | undefined {
    return this.#cache.get(keyText(key));
  }

  list(): T[] {
    return this.#cache.list();
  }

  byIndex(name: string, value: string): T[] {
    return this.#cache.byIndex(name, value);
  }

  /** Adds a handler. If the cache already has objects, the handler first receives all of them. */
  addHandler(handler: InformerHandler<T>): HandlerRegistration {
    const queue = new HandlerQueue<T>(handler, (thrown) => this.#report(thrown));
    let hasSynced = false;
    if (!this.#isRunning) void queue.pause();
    this.#queues.add(queue);
    for (const object of this.#cache.list()) queue.push({ kind: "add", object, isInInitialList: true });
    const markSynced = (): void =>
      queue.mark(() => {
        hasSynced = true;
      });
    if (this.#hasSynced) markSynced();
    else this.#onSync.push(markSynced);
    return {
      get hasSynced() {
        return hasSynced;
      },
      remove: () => {
        this.#queues.delete(queue);
        return queue.close();
      },
    };
  }

  /** Resolves to true when the cache is complete, or to false if the informer or the signal ended before. */
  waitForSync(signal?: AbortSignal): Promise<boolean> {
    if (this.#hasSynced) return Promise.resolve(true);
    if (signal === undefined) return this.#synced.promise;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const onAbort = (): void => resolve(false);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    void this.#synced.promise.then((isSynced) => {
      signal.removeEventListener("abort", onAbort);
      resolve(isSynced);
    });
    return promise;
  }

  /**
   * Runs until the signal aborts. Resolves when no handler will be called any more. The informer can then run again: it
   * keeps its cache, its handlers and the notifications that they have not received yet.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#isRunning) throw new TypeError("an informer cannot run twice at the same time");
    this.#isRunning = true;
    for (const queue of this.#queues) queue.resume();
    const resyncing = this.#resync(signal);
    const pauseQueues = (): Promise<void>[] => [...this.#queues].map((queue) => queue.pause());
    signal.addEventListener("abort", pauseQueues, { once: true });
    await this.#reflector.run(signal);
    await resyncing;
    await Promise.all(pauseQueues());
    this.#isRunning = false;
    if (this.#hasSynced) return;
    this.#synced.resolve(false);
    this.#synced = Promise.withResolvers<boolean>();
  }

  #replace(objects: ReadonlyMap<string, T>, isNewHistory: boolean): void {
    for (const key of this.#cache.keys()) if (!objects.has(key)) this.#remove(key, undefined);
    for (const [key, object] of objects) this.#upsert(key, object, isNewHistory);
    if (!this.#hasSynced) {
      this.#hasSynced = true;
      this.#synced.resolve(true);
      for (const onSync of this.#onSync.splice(0)) onSync();
    }
  }

  async #apply(key: string, event: ChangeEvent<T>): Promise<void> {
    if (event.type === "DELETED") this.#remove(key, event.object);
    else this.#upsert(key, event.object);
    await this.#room();
  }

  #upsert(key: string, object: T, isNewHistory = false): void {
    const before = this.#cache.get(key);
    if (before === undefined) {
      this.#cache.set(key, object);
      return this.#tell({ kind: "add", object, isInInitialList: !this.#hasSynced });
    }
    const isSame = before.metadata?.resourceVersion === object.metadata?.resourceVersion;
    if (isSame && !isNewHistory) return;
    // DIFFERS: if another object with the same name was created meanwhile, client-go reports an update.
    if (before.metadata?.uid !== object.metadata?.uid) {
      this.#remove(key, undefined);
      return this.#upsert(key, object);
    }
    this.#cache.set(key, object);
    this.#tell({ kind: "update", object, before });
  }

  /**
   * `final` is the last state of the object; undefined if the informer missed the DELETED event, because a new list
   * lacks the object or another object has taken its name.
   */
  #remove(key: string, final: T | undefined): void {
    const before = this.#cache.delete(key);
    if (before === undefined) return;
    this.#tell({ kind: "delete", object: final ?? before, isFinalStateUnknown: final === undefined });
  }

  #tell(notification: Notification<T>): void {
    for (const queue of this.#queues) queue.push(notification);
  }

  /**
   * Waits while a handler has too long a backlog. This slows the watch down, so the server may end it and a new list
   * may be needed.
   */
  async #room(): Promise<void> {
    for (const queue of this.#queues) await queue.room();
  }

  async #resync(signal: AbortSignal): Promise<void> {
    const { clock, resyncMs = 0 } = this.#options;
    if (resyncMs <= 0) return;
    while (await sleep(clock, resyncMs, signal)) {
      if (!this.#hasSynced) continue;
      // Resyncs only idle handlers: a busy handler still has newer notifications to receive.
      const idle = [...this.#queues].filter((queue) => queue.isIdle);
      for (const object of this.#cache.list())
        for (const queue of idle) queue.push({ kind: "update", object, before: object });
    }
  }

  #report(thrown: unknown): void {
    try {
      this.#options.onError?.(thrown);
    } catch {
      // An error that onError throws cannot be reported; the informer continues.
    }
  }
}

/**
 * The watch cache: everything under the storage root, kept current by one watch. It owns the entries and their history,
 * and knows how current they are. It never writes; a writer receives its own change through the watch like every other
 * client.
 *
 * State: `loading` (no data, nothing is served) → `following` ⇄ `interrupted` (the store is unreachable; the data may
 * be old) → `loading` again only if the store has compacted changes that the watch missed.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../meta/json.ts";
import { prefixEnd, StorageError, type Kv, type KvEvent, type Watching } from "../kv.ts";
import { createEntry, createTombstone, type DecodeForeign, type Entry, type StoredValue } from "./entry.ts";
import { History, type CacheEvent, type HistoryWatcher, type HistoryWatch } from "./history.ts";
import { CATCH_UP_MS } from "./cache-limits.ts";
import { SortedEntries } from "./sorted-entries.ts";

export type CacheState = "loading" | "following" | "interrupted";

/** Delay before the first load is retried while the store is unreachable. */
const LOAD_RETRY_MS = 250;

interface Partition {
  readonly entries: SortedEntries;
  readonly history: History;
  /** Revision of the newest change in the partition: a list at any later revision is the same. */
  changedAt: number;
}

interface Waiter {
  readonly revision: number;
  readonly wake: () => void;
}

interface WatchCacheOptions {
  readonly kv: Kv;
  readonly clock: Clock;
  /** For example "/registry/". */
  readonly root: string;
  /** Decodes values that are not JSON; without it they are corrupt. */
  readonly decodeForeign?: DecodeForeign;
  readonly onStateChange?: (state: CacheState) => void;
}

export class WatchCache {
  readonly #options: WatchCacheOptions;
  #partitions = new Map<string, Partition>();
  #revision = 0;
  #baseRevision = 0;
  #state: CacheState = "loading";
  #watching: Watching | undefined;
  #waiters: Waiter[] = [];
  readonly #remembered = new WeakMap<Buffer, JsonObject>();
  readonly #stopped = new AbortController();

  constructor(options: WatchCacheOptions) {
    this.#options = options;
  }

  get state(): CacheState {
    return this.#state;
  }

  /** The newest revision that the cache has received. */
  get revision(): number {
    return this.#revision;
  }

  /** Number of objects under a prefix. */
  count(prefix: string): number {
    return this.#partitions.get(this.#partitionOf(prefix))?.entries.count(prefix, prefixEnd(prefix)) ?? 0;
  }

  /** Loads and watches until stopped. Resolves once stopped; retries every failure. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#stopped.abort(), { once: true });
    while (!signal.aborted) {
      try {
        await this.#load();
        await this.#follow();
      } catch (thrown) {
        if (!(thrown instanceof StorageError)) throw thrown;
        await sleep(this.#options.clock, LOAD_RETRY_MS, signal);
      }
    }
    this.#watching?.close();
  }

  get(key: string): Entry | undefined {
    return this.#partitions.get(this.#partitionOf(key))?.entries.get(key);
  }

  /**
   * Remembers the object that a writer has encoded into this buffer. It is then not parsed again if the store delivers
   * the same buffer.
   */
  rememberObject(value: Buffer, object: JsonObject): void {
    this.#remembered.set(value, object);
  }

  /** A value read from the store itself, as an entry of the cache. */
  toEntry(stored: StoredValue): Entry {
    const object = this.#remembered.get(stored.value);
    // Delete it, because a store that keeps the buffer would keep the object in memory too.
    if (object !== undefined) this.#remembered.delete(stored.value);
    return createEntry(stored, { decodeForeign: this.#options.decodeForeign, object });
  }

  /** The current entries of [start, end), which must be in one partition. */
  range(start: string, end: string): Entry[] {
    return this.#partitions.get(this.#partitionOf(start))?.entries.range(start, end) ?? [];
  }

  /** True if a list of the prefix at this revision equals the current content of the cache. */
  isUnchangedSince(prefix: string, revision: number): boolean {
    const partition = this.#partitions.get(this.#partitionOf(prefix));
    return revision <= this.#revision && revision >= (partition?.changedAt ?? this.#baseRevision);
  }

  /** Watches changes after a revision; undefined if the history does not reach back that far. */
  follow(prefix: string, afterRevision: number, follower: HistoryWatcher): HistoryWatch | undefined {
    return this.#partition(this.#partitionOf(prefix)).history.follow(prefix, afterRevision, follower);
  }

  /** The oldest revision after which a watch on this prefix can start. */
  oldestRevision(prefix: string): number {
    return this.#partition(this.#partitionOf(prefix)).history.baseRevision;
  }

  /**
   * Waits until the cache contains every write acknowledged before the call. Resolves to false if the watch does not
   * catch up in time; the caller must then read the store. Fails if the store is unreachable.
   */
  async catchUp(): Promise<boolean> {
    const revision = await this.#options.kv.currentRevision();
    if (this.#state !== "loading" && this.#revision >= revision) return true;
    return this.waitFor(revision, CATCH_UP_MS);
  }

  /** Resolves to true as soon as the cache has reached the revision, or to false after the timeout. */
  waitFor(revision: number, waitMs: number): Promise<boolean> {
    if (this.#state !== "loading" && this.#revision >= revision) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        revision,
        wake: () => {
          cancel();
          resolve(true);
        },
      };
      const cancel = this.#options.clock.after(waitMs, () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        resolve(false);
      });
      this.#waiters.push(waiter);
    });
  }

  async #load(): Promise<void> {
    const { kv, root } = this.#options;
    const loaded = await this.#unlessStopped(kv.range({ start: root, end: prefixEnd(root) }));
    if (loaded === undefined) return;
    const { items, revision } = loaded;
    const previous = this.#partitions;
    this.#partitions = new Map();
    this.#baseRevision = revision;
    for (const item of items) this.#partition(this.#partitionOf(item.key)).entries.set(this.toEntry(item));
    for (const [name, { history }] of previous) {
      const partition = this.#partitions.get(name);
      this.#partitions.set(name, { entries: partition?.entries ?? new SortedEntries(), history, changedAt: revision });
    }
    // Last, because a watcher may start a new watch as soon as it is ended.
    for (const { history } of previous.values()) history.reset(revision);
    this.#advance(revision);
    this.#changeState("following");
  }

  /** Undefined if the cache is stopped first: an unreachable store may take a long time to respond. */
  #unlessStopped<T>(response: Promise<T>): Promise<T | undefined> {
    const { signal } = this.#stopped;
    return new Promise((resolve, reject) => {
      const stop = (): void => resolve(undefined);
      signal.addEventListener("abort", stop, { once: true });
      response.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
    });
  }

  #follow(): Promise<void> {
    // Stopped during loading: the signal does not fire a second time.
    if (this.#stopped.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = (): void => resolve();
      this.#stopped.signal.addEventListener("abort", stop, { once: true });
      this.#watching = this.#options.kv.watch(
        { prefix: this.#options.root, fromRevision: this.#revision + 1 },
        {
          events: (batch) => this.#apply(batch),
          progress: (revision) => this.#advance(revision),
          interrupted: (isInterrupted) => this.#changeState(isInterrupted ? "interrupted" : "following"),
          closed: () => {
            this.#stopped.signal.removeEventListener("abort", stop);
            this.#changeState("loading");
            resolve();
          },
        },
      );
    });
  }

  #apply(batch: readonly KvEvent[]): void {
    for (const event of batch) {
      const partition = this.#partition(this.#partitionOf(event.key));
      const change = this.#toCacheEvent(event, partition.entries);
      partition.changedAt = event.modRevision;
      // Advance the revision first, so that a watcher that reads it during delivery sees its own event included.
      this.#revision = Math.max(this.#revision, event.modRevision);
      if (change !== undefined) partition.history.append(change);
    }
    const last = batch.at(-1);
    if (last !== undefined) this.#advance(last.modRevision);
  }

  #advance(revision: number): void {
    if (revision > this.#revision) this.#revision = revision;
    if (this.#waiters.length === 0) return;
    const due = this.#waiters.filter((waiter) => waiter.revision <= this.#revision);
    if (due.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => waiter.revision > this.#revision);
    for (const waiter of due) waiter.wake();
  }

  #changeState(state: CacheState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#options.onStateChange?.(state);
    this.#advance(this.#revision);
  }

  /** A partition is the first path segment under the root: one resource, or one API group's resources. */
  #partitionOf(key: string): string {
    const start = this.#options.root.length;
    const end = key.indexOf("/", start);
    return end < 0 ? key.slice(start) : key.slice(start, end);
  }

  #partition(name: string): Partition {
    let partition = this.#partitions.get(name);
    if (partition === undefined) {
      partition = {
        entries: new SortedEntries(),
        history: new History(this.#options.clock, this.#baseRevision),
        changedAt: this.#baseRevision,
      };
      this.#partitions.set(name, partition);
    }
    return partition;
  }

  #toCacheEvent(event: KvEvent, entries: SortedEntries): CacheEvent | undefined {
    if (event.kind === "delete") {
      const previous = entries.delete(event.key);
      if (previous === undefined) return undefined;
      return {
        kind: "delete",
        revision: event.modRevision,
        entry: createTombstone(previous, event.modRevision),
        previous,
        memo: new Map(),
      };
    }
    const entry = this.toEntry(event);
    const previous = entries.set(entry);
    return { kind: "put", revision: event.modRevision, entry, previous, memo: new Map() };
  }
}

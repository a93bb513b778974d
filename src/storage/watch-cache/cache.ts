/**
 * Everything under the storage root, kept current by one watch. Owns the entries, their history and the
 * question how fresh they are. It never writes; writers hear of their own change like everybody else.
 *
 * State: `loading` (no data, nothing is served) → `following` ⇄ `interrupted` (the store is out of reach;
 * what is here may be old) → `loading` again only when the store has compacted what the watch missed.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../meta/json.ts";
import { prefixEnd, StorageError, type Kv, type KvEvent, type Watching } from "../kv.ts";
import { createEntry, createTombstone, type DecodeForeign, type Entry, type StoredValue } from "./entry.ts";
import { History, type CacheEvent, type HistoryFollower, type Following } from "./history.ts";
import { CATCH_UP_MS } from "./cache-limits.ts";
import { SortedEntries } from "./sorted-entries.ts";

export type CacheState = "loading" | "following" | "interrupted";

/** Retry of the first load while the store cannot be reached. */
const LOAD_RETRY_MS = 250;

interface Partition {
  readonly entries: SortedEntries;
  readonly history: History;
  /** Revision of the newest change here: a list at any later revision looks the same. */
  changedAt: number;
}

interface Waiter {
  readonly revision: number;
  readonly wake: () => void;
}

interface WatchCacheOptions {
  readonly kv: Kv;
  readonly clock: Clock;
  /** Such as "/registry/". */
  readonly root: string;
  /** For values that are not JSON; without it they are corrupt. */
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
  readonly #vouched = new WeakMap<Buffer, JsonObject>();
  readonly #stopped = new AbortController();

  constructor(options: WatchCacheOptions) {
    this.#options = options;
  }

  get state(): CacheState {
    return this.#state;
  }

  /** The newest revision this cache has seen. */
  get revision(): number {
    return this.#revision;
  }

  /** Number of objects under a prefix. */
  count(prefix: string): number {
    return this.#partitions.get(this.#partitionOf(prefix))?.entries.count(prefix, prefixEnd(prefix)) ?? 0;
  }

  /** Loads and follows until stopped. Resolves once stopped; retries everything else for ever. */
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

  /** The writer knows what the bytes say: stores that hand back the same buffer save parsing it. */
  vouch(value: Buffer, object: JsonObject): void {
    this.#vouched.set(value, object);
  }

  /** A value read from the store itself, as the cache would hold it. */
  toEntry(stored: StoredValue): Entry {
    const object = this.#vouched.get(stored.value);
    // A store that keeps the buffer would keep the object with it.
    if (object !== undefined) this.#vouched.delete(stored.value);
    return createEntry(stored, { decodeForeign: this.#options.decodeForeign, object });
  }

  /** Entries of [start, end) now; both must lie in one partition. */
  range(start: string, end: string): Entry[] {
    return this.#partitions.get(this.#partitionOf(start))?.entries.range(start, end) ?? [];
  }

  /** True when a list of the prefix at this revision is what the cache holds now. */
  isUnchangedSince(prefix: string, revision: number): boolean {
    const partition = this.#partitions.get(this.#partitionOf(prefix));
    return revision <= this.#revision && revision >= (partition?.changedAt ?? this.#baseRevision);
  }

  /** Follows changes after a revision; undefined when they are no longer all here. */
  follow(prefix: string, afterRevision: number, follower: HistoryFollower): Following | undefined {
    return this.#partition(this.#partitionOf(prefix)).history.follow(prefix, afterRevision, follower);
  }

  /** The oldest revision a watch on this prefix can start after. */
  oldestRevision(prefix: string): number {
    return this.#partition(this.#partitionOf(prefix)).history.baseRevision;
  }

  /**
   * Waits until the cache shows every write acknowledged before the call, and says so; false when the
   * watch did not catch up in time (then the store must be read). Fails when the store is out of reach.
   */
  async catchUp(): Promise<boolean> {
    const revision = await this.#options.kv.currentRevision();
    if (this.#state !== "loading" && this.#revision >= revision) return true;
    return this.waitFor(revision, CATCH_UP_MS);
  }

  /** Resolves true as soon as the cache has reached the revision, false after the wait. */
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
    // Only now: a follower that is ended may at once follow again.
    for (const { history } of previous.values()) history.reset(revision);
    this.#advance(revision);
    this.#changeState("following");
  }

  /** Undefined when the cache is stopped first: a store out of reach may keep its answer back for long. */
  #unlessStopped<T>(answer: Promise<T>): Promise<T | undefined> {
    const { signal } = this.#stopped;
    return new Promise((resolve, reject) => {
      const stop = (): void => resolve(undefined);
      signal.addEventListener("abort", stop, { once: true });
      answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
    });
  }

  #follow(): Promise<void> {
    // Stopped while it was loading: the signal does not tell a second time.
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
      // The revision moves first: a follower that asks for it while being told sees its own event included.
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

/**
 * The watch cache: an in-memory copy of everything under the storage root, kept current by one watch. It owns the
 * entries and their history, and knows the revision that they have reached. It never writes; a writer receives its own
 * change through the watch, as every other client does.
 *
 * States: `loading` (there is no current data, so the object store serves no reads); `following` (the data is current);
 * `interrupted` (the store is unreachable, so the data may be old). The cache goes back to `loading` only if its watch
 * ends, because the store has compacted changes that the watch missed, because the history of the store has changed, or
 * because the store was closed.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import { StoreEpochs, type StoreEpoch } from "../../base/store-epoch.ts";
import type { JsonObject } from "../../meta/json.ts";
import { prefixEnd, StorageError, type Kv, type KvEvent, type Watching } from "../kv.ts";
import { decodeEntry, createTombstone, type Entry, type EntryReading, type StoredValue } from "./entry.ts";
import { History, type CacheEvent, type HistoryWatcher, type HistoryWatch } from "./history.ts";
import { historyChangedError } from "../kv-errors.ts";
import { CATCH_UP_MS, DELIVERY_WAIT_MS, HISTORY_CHANGE_MARGIN_MS, HISTORY_OVERLAP_MS } from "./cache-limits.ts";
import { Memo } from "./memo.ts";
import { SortedEntries } from "./sorted-entries.ts";

export type CacheState = "loading" | "following" | "interrupted";

/** Delay before a failed load is retried. */
const LOAD_RETRY_MS = 250;

interface Partition {
  readonly entries: SortedEntries;
  readonly history: History;
  /** Revision of the newest change in the partition. A list at this or any later revision has the same content. */
  changedAt: number;
}

interface Waiter {
  readonly revision: number;
  readonly wake: () => void;
}

interface WatchCacheOptions {
  readonly kv: Kv;
  readonly clock: Clock;
  /** The key prefix of everything in the cache, for example "/registry/". */
  readonly root: string;
  /**
   * How stored values are read: without `decodeForeign`, values in protobuf become corrupt entries; without
   * `addDefaults`, objects are served as they are stored.
   */
  readonly reading?: Pick<EntryReading, "decodeForeign" | "addDefaults">;
  readonly onStateChange?: (state: CacheState) => void;
  /** Called if the store cannot be loaded, once for each reason in a row. */
  readonly onLoadFailed?: (problem: string) => void;
  /** Calls back in the next turn of the event loop. Without it, all watchers receive a change at once. */
  readonly nextTurn?: ((callback: () => void) => void) | undefined;
  /** Counts the changes of the store's history. Default: a counter of its own. */
  readonly epochs?: StoreEpochs;
}

export class WatchCache {
  readonly #options: WatchCacheOptions;
  #partitions = new Map<string, Partition>();
  #revision = 0;
  #baseRevision = 0;
  readonly #corrupt = new Map<string, Entry>();
  #state: CacheState = "loading";
  #watching: Watching | undefined;
  /** Ignores the watch on the store from now on. */
  #endWatch: () => void = () => {};
  /** Whether the next load reads another history than the current one, so that its revision may be lower. */
  #isNewHistory = false;
  #historyChangedAtMs: number | undefined;
  #problem: string | undefined;
  readonly #epochs: StoreEpochs;
  #waiters: Waiter[] = [];
  /** The newest revision of a write whose change the watch did not deliver in time. */
  #lateRevision = 0;
  readonly #remembered = new WeakMap<Buffer, JsonObject>();
  /** The values of writes of this server that have not been delivered yet, by key. */
  readonly #written = new Map<string, Buffer>();

  constructor(options: WatchCacheOptions) {
    this.#options = options;
    this.#epochs = options.epochs ?? new StoreEpochs();
  }

  /** Changes when the store has another history, so that all revisions from before are meaningless. */
  get epoch(): StoreEpoch {
    return this.#epochs;
  }

  get state(): CacheState {
    return this.#state;
  }

  /** Why the store could not be loaded at the last attempt; undefined if it could. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The newest revision that the cache has reached. */
  get revision(): number {
    return this.#revision;
  }

  /** The entries whose values cannot be decoded, by key. */
  get corrupt(): ReadonlyMap<string, Entry> {
    return this.#corrupt;
  }

  /** Number of objects under a prefix, or in [prefix, end). */
  count(prefix: string, end: string = prefixEnd(prefix)): number {
    return this.#partitions.get(this.#partitionOf(prefix))?.entries.count(prefix, end) ?? 0;
  }

  /**
   * Loads the data and watches the store until the signal aborts. Resolves when it has stopped. Retries all failures of
   * the store.
   */
  async run(signal: AbortSignal): Promise<void> {
    const unlisten = this.#options.kv.onHistoryChange((evidence) => this.#historyChanged(evidence));
    try {
      while (!signal.aborted) await this.#loadAndFollow(signal);
    } finally {
      unlisten();
      this.#watching?.close();
      // Without a watch the data gets old. The next run loads it again.
      if (this.#state === "following") this.#changeState("interrupted");
    }
  }

  async #loadAndFollow(signal: AbortSignal): Promise<void> {
    try {
      await this.#load(signal);
      await this.#follow(signal);
    } catch (thrown) {
      if (!(thrown instanceof StorageError)) throw thrown;
      this.#noteProblem(thrown.message);
      await sleep(this.#options.clock, LOAD_RETRY_MS, signal);
    }
  }

  get(key: string): Entry | undefined {
    return this.#partitions.get(this.#partitionOf(key))?.entries.get(key);
  }

  /**
   * Remembers the object that a writer has encoded into this buffer, so that it is not parsed again if the store
   * delivers the same buffer.
   */
  rememberObject(value: Buffer, object: JsonObject): void {
    this.#remembered.set(value, object);
  }

  /**
   * Announces that this server writes the value, so that the object that `rememberObject` got for it is also used if the
   * store delivers equal bytes in another buffer, as etcd does. The returned function must be called after the write.
   */
  announceWrite(key: string, value: Buffer): () => void {
    this.#written.set(key, value);
    return () => {
      if (this.#written.get(key) === value) this.#written.delete(key);
    };
  }

  /** Turns a value that was read from the store into an entry. */
  toEntry(stored: StoredValue): Entry {
    return this.#decode(stored).entry;
  }

  #decode(stored: StoredValue): ReturnType<typeof decodeEntry> {
    const value = this.#writtenAs(stored);
    const object = this.#remembered.get(value);
    // Forgets the object, because a store that keeps the buffer would otherwise keep the object in memory too.
    if (object !== undefined) this.#remembered.delete(value);
    return decodeEntry(stored, object === undefined ? (this.#options.reading ?? {}) : { object });
  }

  #writtenAs({ key, value }: StoredValue): Buffer {
    const written = this.#written.get(key);
    return written !== undefined && written.equals(value) ? written : value;
  }

  /** All current entries. */
  entries(): readonly Entry[] {
    return [...this.#partitions.values()].flatMap(({ entries }) => entries.all());
  }

  /**
   * Replaces an entry whose value was read from the store a second time, because the keys that decrypt it have changed.
   * Does nothing if the object has changed meanwhile. Watches receive no event, because the object is the same.
   */
  replaceReread(entry: Entry, stored: StoredValue | undefined): void {
    const partition = this.#partitions.get(this.#partitionOf(entry.key));
    if (partition?.entries.get(entry.key) !== entry || stored?.modRevision !== entry.modRevision) return;
    const reread = this.toEntry(stored);
    this.#noteCorrupt(reread);
    partition.entries.set(reread);
    partition.history.replace(reread);
  }

  /** The first current entries of [start, end), which must be in one partition. */
  range(start: string, end: string, limit?: number): Entry[] {
    return this.#partitions.get(this.#partitionOf(start))?.entries.range(start, end, limit) ?? [];
  }

  /** True if a list of the prefix at this revision equals the current content of the cache. */
  isUnchangedSince(prefix: string, revision: number): boolean {
    const partition = this.#partitions.get(this.#partitionOf(prefix));
    return revision <= this.#revision && revision >= (partition?.changedAt ?? this.#baseRevision);
  }

  /**
   * Whether a revision that a client received at this time (wall clock, of any server) may belong to an earlier history
   * of the store. The same revision may then exist, but with another content.
   */
  isFromEarlierHistory(receivedAtMs: number | undefined): boolean {
    const changedAtMs = this.#historyChangedAtMs;
    if (changedAtMs === undefined || this.#options.clock.now() - changedAtMs > HISTORY_OVERLAP_MS) return false;
    return receivedAtMs === undefined || receivedAtMs <= changedAtMs + HISTORY_CHANGE_MARGIN_MS;
  }

  /** Watches changes after a revision. Returns undefined if the history does not reach back to the revision. */
  follow(prefix: string, afterRevision: number, follower: HistoryWatcher): HistoryWatch | undefined {
    return this.#partition(this.#partitionOf(prefix)).history.follow(prefix, afterRevision, follower);
  }

  /** The oldest revision after which a watch on this prefix can start. */
  oldestRevision(prefix: string): number {
    return this.#partition(this.#partitionOf(prefix)).history.baseRevision;
  }

  /**
   * Waits until the cache contains every write that was acknowledged before the call. Resolves to false if the watch
   * does not catch up in time; the caller must then read from the store. Rejects if the store is unreachable.
   */
  async catchUp(): Promise<boolean> {
    if (this.isCaughtUp()) return true;
    const revision = await this.#options.kv.currentRevision();
    if (this.#state !== "loading" && this.#revision >= revision) return true;
    return this.waitFor(revision, CATCH_UP_MS);
  }

  /** True if the cache contains every acknowledged write. False if it does not, or if it must ask the store. */
  isCaughtUp(): boolean {
    if (this.#state === "loading") return false;
    const revision = this.#options.kv.revisionNow?.();
    return revision !== undefined && this.#revision >= revision;
  }

  /** Resolves to true as soon as the cache has loaded and reached the revision, or to false after `waitMs`. */
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

  /**
   * Waits until the watchers have received all changes up to the revision of a write, so that its response does not
   * arrive before its watch event. If there are very many watchers, it waits only for the first of them. Returns undefined if they have. Does not wait while the watch is interrupted, or has
   * not delivered the change of an earlier write in time: a stalled watch delays few writes, and none for long.
   */
  untilDelivered(revision: number): Promise<void> | undefined {
    if (revision <= this.#revision || this.#state !== "following" || this.#revision < this.#lateRevision)
      return undefined;
    return this.#delivered(revision);
  }

  async #delivered(revision: number): Promise<void> {
    const epoch = this.#epochs.current;
    const isDelivered = await this.waitFor(revision, DELIVERY_WAIT_MS);
    if (!isDelivered && epoch === this.#epochs.current) this.#lateRevision = Math.max(this.#lateRevision, revision);
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { kv, root } = this.#options;
    const epoch = this.#epochs.current;
    const loaded = await unlessAborted(kv.range({ start: root, end: prefixEnd(root) }), signal);
    if (loaded === undefined) return;
    const { items, revision } = loaded;
    if (epoch !== this.#epochs.current) throw historyChangedError("the history changed while it was loaded");
    // The store reports a change of its history itself. This is the last check before lists and watches would go back.
    if (!this.#isNewHistory && revision < this.#revision)
      this.#historyChanged(`the store is at revision ${revision}, and this server has seen revision ${this.#revision}`);
    if (this.#isNewHistory) this.#revision = revision;
    this.#isNewHistory = false;
    this.#problem = undefined;
    const previous = this.#partitions;
    this.#partitions = new Map();
    this.#baseRevision = revision;
    this.#corrupt.clear();
    for (const item of items) {
      const entry = this.toEntry(item);
      this.#partition(this.#partitionOf(item.key)).entries.set(entry);
      if (entry.corrupt !== undefined) this.#corrupt.set(entry.key, entry);
    }
    for (const [name, { history }] of previous) {
      const partition = this.#partitions.get(name);
      this.#partitions.set(name, { entries: partition?.entries ?? new SortedEntries(), history, changedAt: revision });
    }
    // Resets the histories last, because a watcher may start a new watch as soon as it is ended.
    for (const { history } of previous.values()) history.reset(revision);
    this.#advance(revision);
    this.#changeState("following");
  }

  #follow(signal: AbortSignal): Promise<void> {
    // If the cache was stopped during loading, the signal does not fire a second time. If the history has changed since
    // the load, the loaded revision means nothing to the store.
    if (signal.aborted || this.#isNewHistory) return Promise.resolve();
    return new Promise((resolve) => {
      let isOpen = true;
      const whileOpen = (work: () => void): void => {
        if (isOpen) work();
      };
      const end = (): void => {
        isOpen = false;
        signal.removeEventListener("abort", end);
        resolve();
      };
      signal.addEventListener("abort", end, { once: true });
      this.#endWatch = end;
      this.#watching = this.#options.kv.watch(
        { prefix: this.#options.root, fromRevision: this.#revision + 1 },
        {
          events: (batch) => whileOpen(() => this.#apply(batch)),
          progress: (revision) => whileOpen(() => this.#advance(revision)),
          interrupted: (isInterrupted) =>
            whileOpen(() => this.#changeState(isInterrupted ? "interrupted" : "following")),
          closed: () =>
            whileOpen(() => {
              this.#changeState("loading");
              end();
            }),
        },
      );
    });
  }

  #noteProblem(problem: string): void {
    if (problem !== this.#problem) this.#options.onLoadFailed?.(problem);
    this.#problem = problem;
  }

  /**
   * Ends all watches at once, because a load may take long. Until it is complete, no watch can start, whatever revision
   * it names. The watch on the store belongs to the lost history, even if the store has not ended it yet. The store may
   * have no watch open when it notices the change.
   */
  #historyChanged(evidence: string): void {
    this.#endWatch();
    this.#watching?.close();
    this.#changeState("loading");
    this.#isNewHistory = true;
    this.#historyChangedAtMs = this.#options.clock.now();
    this.#baseRevision = Number.POSITIVE_INFINITY;
    this.#lateRevision = 0;
    this.#epochs.advance(evidence);
    for (const { history } of this.#partitions.values()) history.reset(this.#baseRevision);
  }

  #apply(batch: readonly KvEvent[]): void {
    for (const event of batch) {
      const partition = this.#partition(this.#partitionOf(event.key));
      const change = this.#toCacheEvent(event, partition.entries);
      partition.changedAt = event.modRevision;
      // Advances the revision before delivery, so that a watcher that reads the cache's revision finds it not older
      // than the event.
      this.#revision = Math.max(this.#revision, event.modRevision);
      if (change === undefined) continue;
      partition.history.append(change);
      change.decoded = undefined;
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

  /**
   * A partition holds the keys with the same first path segment under the root: one resource, or the resources of one
   * API group.
   */
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
        history: this.#newHistory(),
        changedAt: this.#baseRevision,
      };
      this.#partitions.set(name, partition);
    }
    return partition;
  }

  #newHistory(): History {
    const { clock, nextTurn } = this.#options;
    return new History({ clock, baseRevision: this.#baseRevision, nextTurn });
  }

  #noteCorrupt(entry: Entry): void {
    if (entry.corrupt !== undefined) this.#corrupt.set(entry.key, entry);
    else if (this.#corrupt.size > 0) this.#corrupt.delete(entry.key);
  }

  #toCacheEvent(event: KvEvent, entries: SortedEntries): CacheEvent | undefined {
    if (event.kind === "delete") {
      const previous = entries.delete(event.key);
      this.#corrupt.delete(event.key);
      if (previous === undefined) return undefined;
      return {
        kind: "delete",
        revision: event.modRevision,
        entry: createTombstone(previous, event.modRevision),
        previous,
        memo: new Memo(),
      };
    }
    const { entry, decoded } = this.#decode(event);
    this.#noteCorrupt(entry);
    const previous = entries.set(entry);
    return { kind: "put", revision: event.modRevision, entry, previous, decoded, memo: new Memo() };
  }
}

/** Resolves to undefined if the signal aborts first, because an unreachable store may take a long time to respond. */
function unlessAborted<T>(response: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(undefined);
    signal.addEventListener("abort", stop, { once: true });
    response.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

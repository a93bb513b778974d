/**
 * The storage port in memory: for servers whose data need not survive the process, for the simulator, and as the model
 * with which tests compare other stores. Every promise is already settled when it is returned, and watches receive a
 * change before its commit is acknowledged.
 */
import type { Clock } from "../../base/clock.ts";
import type {
  Change,
  CommitResult,
  HistoryListener,
  Kv,
  LeaseId,
  RangeRequest,
  RangeResult,
  WatchRequest,
  WatchSink,
  Watching,
} from "../kv.ts";
import { closedError } from "../kv-errors.ts";
import { StoreState, type StoreBackup } from "./store.ts";
import { Watcher } from "./watcher.ts";

/** One store in memory that several servers of one process open, as they would connect to one etcd. */
export interface MemoryStore {
  /** Opens a new handle. Closing the handle ends its watches; the store keeps the data and the leases. */
  open(): Kv;
  /** Copies the content of the store, for `restore`. */
  backUp(): StoreBackup;
  /**
   * Replaces the content of the store by that of a backup, as an operator restores etcd from a snapshot: the revision
   * goes back, the listeners are called, and every watch ends with `history-changed`.
   */
  restore(backup: StoreBackup): void;
}

export function createMemoryStore(options: { clock: Clock }): MemoryStore {
  const state = new StoreState(options.clock);
  return {
    open: () => new MemoryKv(state, () => {}),
    backUp: () => state.backUp(),
    restore: (backup) => state.restore(backup),
  };
}

/** Creates a store with a single handle. Closing the handle ends all watches and lease timers. */
export function createMemoryKv(options: { clock: Clock }): Kv {
  const state = new StoreState(options.clock);
  return new MemoryKv(state, () => state.stopTimers());
}

class MemoryKv implements Kv {
  readonly #state: StoreState;
  readonly #onClose: () => void;
  readonly #watchers = new Set<Watcher>();
  #isClosed = false;

  constructor(state: StoreState, onClose: () => void) {
    this.#state = state;
    this.#onClose = onClose;
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    return this.#opened().range(request);
  }

  async commit(change: Change): Promise<CommitResult> {
    return this.#opened().commit(change);
  }

  watch(request: WatchRequest, sink: WatchSink): Watching {
    const watcher = new Watcher({ log: this.#state, request, sink, onEnd: (ended) => this.#forget(ended) });
    if (this.#isClosed) {
      queueMicrotask(() => watcher.end(closedError()));
      return watcher;
    }
    this.#watchers.add(watcher);
    this.#state.follow(watcher);
    return watcher;
  }

  onHistoryChange(listener: HistoryListener): () => void {
    return this.#state.historyListeners.add(listener);
  }

  async currentRevision(): Promise<number> {
    return this.#opened().revision;
  }

  async compact(revision: number): Promise<void> {
    this.#opened().compact(revision);
  }

  async leaseGrant(ttlSeconds: number): Promise<LeaseId> {
    return this.#opened().leaseGrant(ttlSeconds);
  }

  async leaseKeepAlive(lease: LeaseId): Promise<void> {
    this.#opened().leaseKeepAlive(lease);
  }

  async leaseRevoke(lease: LeaseId): Promise<void> {
    this.#opened().leaseRevoke(lease);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose();
    for (const watcher of this.#watchers) watcher.end(closedError());
  }

  #opened(): StoreState {
    if (this.#isClosed) throw closedError();
    return this.#state;
  }

  #forget(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    this.#state.unfollow(watcher);
  }
}

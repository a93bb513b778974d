/**
 * Shares one store between several servers of one process: each server opens its own handle, as it would connect to one
 * etcd.
 */
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
} from "./kv.ts";
import { AcceptedCalls } from "./accepted-calls.ts";
import { HistoryListeners } from "./history-listeners.ts";
import { closedError } from "./kv-errors.ts";

export interface SharedKv {
  /** Opens a new handle. Closing the handle ends its watches; the store keeps its data and its leases. */
  open(): Kv;
}

/** Makes handles for a store. Only the owner of the store closes the store itself, after all handles are closed. */
export function shareKv(kv: Kv): SharedKv {
  return { open: () => new KvHandle(kv) };
}

interface HandleWatch {
  readonly sink: WatchSink;
  readonly watching: Watching;
}

class KvHandle implements Kv {
  readonly #kv: Kv;
  readonly #calls = new AcceptedCalls();
  readonly #watches = new Set<HandleWatch>();
  readonly #historyListeners = new HistoryListeners();
  readonly #unlisten: () => void;
  #closing: Promise<void> | undefined;

  constructor(kv: Kv) {
    this.#kv = kv;
    this.#unlisten = kv.onHistoryChange((evidence) => this.#historyListeners.call(evidence));
  }

  range(request: RangeRequest): Promise<RangeResult> {
    return this.#calls.run(() => this.#kv.range(request));
  }

  commit(change: Change): Promise<CommitResult> {
    return this.#calls.run(() => this.#kv.commit(change));
  }

  watch(request: WatchRequest, sink: WatchSink): Watching {
    if (this.#calls.isClosed) {
      let isOpen = true;
      queueMicrotask(() => isOpen && sink.closed(closedError()));
      return { close: () => void (isOpen = false) };
    }
    const watch: HandleWatch = {
      sink,
      watching: this.#kv.watch(request, {
        events: (batch) => sink.events(batch),
        progress: (revision) => sink.progress(revision),
        interrupted: (isInterrupted) => sink.interrupted(isInterrupted),
        closed: (error) => {
          this.#watches.delete(watch);
          sink.closed(error);
        },
      }),
    };
    this.#watches.add(watch);
    return { close: () => this.#unwatch(watch) };
  }

  onHistoryChange(listener: HistoryListener): () => void {
    return this.#historyListeners.add(listener);
  }

  currentRevision(): Promise<number> {
    return this.#calls.run(() => this.#kv.currentRevision());
  }

  compact(revision: number): Promise<void> {
    return this.#calls.run(() => this.#kv.compact(revision));
  }

  leaseGrant(ttlSeconds: number): Promise<LeaseId> {
    return this.#calls.run(() => this.#kv.leaseGrant(ttlSeconds));
  }

  leaseKeepAlive(lease: LeaseId): Promise<void> {
    return this.#calls.run(() => this.#kv.leaseKeepAlive(lease));
  }

  leaseRevoke(lease: LeaseId): Promise<void> {
    return this.#calls.run(() => this.#kv.leaseRevoke(lease));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#calls.close();
    this.#unlisten();
    for (const watch of this.#watches) {
      this.#unwatch(watch);
      watch.sink.closed(closedError());
    }
  }

  #unwatch(watch: HandleWatch): void {
    this.#watches.delete(watch);
    watch.watching.close();
  }
}

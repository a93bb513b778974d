/** One store for several servers of one process: each gets a handle, as each would connect to one etcd. */
import type {
  Change,
  CommitResult,
  Kv,
  LeaseId,
  RangeRequest,
  RangeResult,
  WatchRequest,
  WatchSink,
  Watching,
} from "./kv.ts";
import { closedError } from "./kv-memory/errors.ts";

export interface SharedKv {
  /** A handle of its own: closing it ends its watches and leaves the store, its data and its leases. */
  open(): Kv;
}

/** The store stays its owner's to close, after the handles. */
export function shareKv(kv: Kv): SharedKv {
  return { open: () => new KvHandle(kv) };
}

interface HandleWatch {
  readonly sink: WatchSink;
  readonly watching: Watching;
}

class KvHandle implements Kv {
  readonly #kv: Kv;
  /** Calls that were accepted and have not been answered; closing waits for them. */
  readonly #calls = new Set<Promise<unknown>>();
  readonly #watches = new Set<HandleWatch>();
  #closing: Promise<void> | undefined;

  constructor(kv: Kv) {
    this.#kv = kv;
  }

  range(request: RangeRequest): Promise<RangeResult> {
    return this.#accept(() => this.#kv.range(request));
  }

  commit(change: Change): Promise<CommitResult> {
    return this.#accept(() => this.#kv.commit(change));
  }

  watch(request: WatchRequest, sink: WatchSink): Watching {
    if (this.#closing !== undefined) {
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

  currentRevision(): Promise<number> {
    return this.#accept(() => this.#kv.currentRevision());
  }

  compact(revision: number): Promise<void> {
    return this.#accept(() => this.#kv.compact(revision));
  }

  leaseGrant(ttlSeconds: number): Promise<LeaseId> {
    return this.#accept(() => this.#kv.leaseGrant(ttlSeconds));
  }

  leaseKeepAlive(lease: LeaseId): Promise<void> {
    return this.#accept(() => this.#kv.leaseKeepAlive(lease));
  }

  leaseRevoke(lease: LeaseId): Promise<void> {
    return this.#accept(() => this.#kv.leaseRevoke(lease));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#calls);
    for (const watch of this.#watches) {
      this.#unwatch(watch);
      watch.sink.closed(closedError());
    }
  }

  #accept<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(closedError());
    const promise = call();
    this.#calls.add(promise);
    const forget = (): void => void this.#calls.delete(promise);
    promise.then(forget, forget);
    return promise;
  }

  #unwatch(watch: HandleWatch): void {
    this.#watches.delete(watch);
    watch.watching.close();
  }
}

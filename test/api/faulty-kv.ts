/** Wraps a store so that a test can make it unreachable, delay its watches, compact its history or stall its calls. */
import {
  StorageError,
  type Kv,
  type KvEvent,
  type WatchRequest,
  type WatchSink,
  type Watching,
} from "../../src/storage/kv.ts";

interface Followed {
  readonly sink: WatchSink;
  readonly missed: (readonly KvEvent[])[];
  readonly close: () => void;
}

export class FaultyKv implements Kv {
  readonly #kv: Kv;
  readonly #followed = new Set<Followed>();
  #isDown = false;
  #isLagging = false;
  #stalled: (() => void)[] | undefined;

  constructor(kv: Kv) {
    this.#kv = kv;
  }

  /**
   * Makes the store unreachable, or reachable again. When it is reachable again, watches receive the events that they
   * missed.
   */
  setDown(isDown: boolean): void {
    this.#isDown = isDown;
    if (!isDown) this.#catchUp();
    for (const { sink } of this.#followed) sink.interrupted(isDown);
  }

  /** Delays the events of watches, or delivers the delayed events. Other calls are not affected. */
  setLagging(isLagging: boolean): void {
    this.#isLagging = isLagging;
    if (!isLagging) this.#catchUp();
  }

  /** Ends all watches as if the store had compacted events that they had not received. */
  loseHistory(): void {
    for (const { sink, close } of [...this.#followed]) {
      close();
      sink.closed(new StorageError("revision-compacted", "the history is compacted"));
    }
  }

  /** Makes all calls except watches wait until `resume` is called. */
  stall(): void {
    this.#stalled ??= [];
  }

  resume(): void {
    const waiting = this.#stalled ?? [];
    this.#stalled = undefined;
    for (const wake of waiting) wake();
  }

  readonly range: Kv["range"] = (request) => this.#reach(() => this.#kv.range(request));
  readonly commit: Kv["commit"] = (change) => this.#reach(() => this.#kv.commit(change));
  readonly currentRevision: Kv["currentRevision"] = () => this.#reach(() => this.#kv.currentRevision());
  readonly compact: Kv["compact"] = (revision) => this.#reach(() => this.#kv.compact(revision));
  readonly leaseGrant: Kv["leaseGrant"] = (ttlSeconds) => this.#reach(() => this.#kv.leaseGrant(ttlSeconds));
  readonly leaseKeepAlive: Kv["leaseKeepAlive"] = (lease) => this.#reach(() => this.#kv.leaseKeepAlive(lease));
  readonly leaseRevoke: Kv["leaseRevoke"] = (lease) => this.#reach(() => this.#kv.leaseRevoke(lease));
  readonly onHistoryChange: Kv["onHistoryChange"] = (listener) => this.#kv.onHistoryChange(listener);

  watch(request: WatchRequest, sink: WatchSink): Watching {
    const missed: (readonly KvEvent[])[] = [];
    const watching = this.#kv.watch(request, {
      events: (batch) => {
        if (this.#isDown || this.#isLagging) missed.push(batch);
        else sink.events(batch);
      },
      progress: (revision) => {
        if (!this.#isDown && !this.#isLagging) sink.progress(revision);
      },
      interrupted: (isInterrupted) => sink.interrupted(isInterrupted),
      closed: (error) => {
        this.#followed.delete(followed);
        sink.closed(error);
      },
    });
    const close = (): void => {
      this.#followed.delete(followed);
      watching.close();
    };
    const followed: Followed = { sink, missed, close };
    this.#followed.add(followed);
    return { close };
  }

  close(): Promise<void> {
    return this.#kv.close();
  }

  #catchUp(): void {
    for (const { sink, missed } of this.#followed) for (const batch of missed.splice(0)) sink.events(batch);
  }

  async #reach<T>(work: () => Promise<T>): Promise<T> {
    const stalled = this.#stalled;
    if (stalled !== undefined) await new Promise<void>((resolve) => stalled.push(resolve));
    if (this.#isDown) throw new StorageError("unavailable", "the store is unreachable");
    return work();
  }
}

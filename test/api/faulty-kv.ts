/** Stands between a server and its store, and fails or stalls when told to. */
import { StorageError, type Kv, type KvEvent, type WatchRequest, type WatchSink, type Watching } from "../../src/storage/kv.ts";

export class FaultyKv implements Kv {
  readonly #kv: Kv;
  readonly #sinks = new Set<{ sink: WatchSink; missed: (readonly KvEvent[])[] }>();
  #isDown = false;
  #stalled: (() => void)[] | undefined;

  constructor(kv: Kv) {
    this.#kv = kv;
  }

  /** Nothing gets through; what happens meanwhile is told to watches when the store is back. */
  setDown(isDown: boolean): void {
    this.#isDown = isDown;
    for (const { sink, missed } of this.#sinks) {
      if (!isDown) for (const batch of missed.splice(0)) sink.events(batch);
      sink.interrupted(isDown);
    }
  }

  /** Calls wait from now on, until `resume`. */
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

  watch(request: WatchRequest, sink: WatchSink): Watching {
    const entry = { sink, missed: [] as (readonly KvEvent[])[] };
    this.#sinks.add(entry);
    const watching = this.#kv.watch(request, {
      events: (batch) => (this.#isDown ? entry.missed.push(batch) : sink.events(batch)),
      progress: (revision) => {
        if (!this.#isDown) sink.progress(revision);
      },
      interrupted: (isInterrupted) => sink.interrupted(isInterrupted),
      closed: (error) => {
        this.#sinks.delete(entry);
        sink.closed(error);
      },
    });
    return {
      close: () => {
        this.#sinks.delete(entry);
        watching.close();
      },
    };
  }

  close(): Promise<void> {
    return this.#kv.close();
  }

  async #reach<T>(work: () => Promise<T>): Promise<T> {
    const stalled = this.#stalled;
    if (stalled !== undefined) await new Promise<void>((resolve) => stalled.push(resolve));
    if (this.#isDown) throw new StorageError("unavailable", "the store is down");
    return work();
  }
}

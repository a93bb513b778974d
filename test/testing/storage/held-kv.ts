/** Wraps a store so that a test can hold back and interrupt its watches, and make its reads fail. */
import { StorageError, type Kv, type WatchSink } from "../../../src/storage/kv.ts";

export interface HeldKv {
  readonly kv: Kv;
  /** Holds the events of watches back until `release`. */
  hold(): void;
  release(): void;
  /** Notifies the watches that the store is unreachable, or reachable again. */
  interrupt(isInterrupted: boolean): void;
  /** Makes the next `times` calls of range and currentRevision fail. */
  fail(times: number): void;
  /** Number of calls of range so far. */
  readonly rangesRead: () => number;
}

export function holdKv(inner: Kv): HeldKv {
  let isHeld = false;
  let failures = 0;
  let ranges = 0;
  let waiting: (() => void)[] = [];
  const sinks = new Set<WatchSink>();
  const pass = (deliver: () => void): void => {
    if (isHeld) waiting.push(deliver);
    else deliver();
  };
  const failIfRequested = (): void => {
    if (failures > 0) {
      failures--;
      throw new StorageError("unavailable", "the store is unreachable");
    }
  };
  const kv: Kv = {
    commit: (change) => inner.commit(change),
    compact: (revision) => inner.compact(revision),
    leaseGrant: (ttlSeconds) => inner.leaseGrant(ttlSeconds),
    leaseKeepAlive: (lease) => inner.leaseKeepAlive(lease),
    leaseRevoke: (lease) => inner.leaseRevoke(lease),
    close: () => inner.close(),
    onHistoryChange: (listener) => inner.onHistoryChange(listener),
    async range(request) {
      ranges++;
      failIfRequested();
      return inner.range(request);
    },
    async currentRevision() {
      failIfRequested();
      return inner.currentRevision();
    },
    watch(request, sink) {
      sinks.add(sink);
      return inner.watch(request, {
        events: (batch) => pass(() => sink.events(batch)),
        progress: (revision) => pass(() => sink.progress(revision)),
        interrupted: (isInterrupted) => sink.interrupted(isInterrupted),
        closed: (error) => {
          sinks.delete(sink);
          sink.closed(error);
        },
      });
    },
  };
  return {
    kv,
    hold: () => void (isHeld = true),
    release() {
      isHeld = false;
      const due = waiting;
      waiting = [];
      for (const deliver of due) deliver();
    },
    interrupt: (isInterrupted) => {
      for (const sink of sinks) sink.interrupted(isInterrupted);
    },
    fail: (times) => void (failures = times),
    rangesRead: () => ranges,
  };
}

/** Determines which objects controllers must not treat as unserved, for the checker of garbage collection. */
import type { Clock } from "../../src/base/clock.ts";
import type { EncodingRecord } from "./encoding-record.ts";
import type { Run } from "../../src/tools/simulator/server.ts";

/** Clocks of servers run at most this much faster than the clock of the world. */
const DRIFT_MAX = 0.02;

export interface ServedLatelyOptions {
  readonly clock: Clock;
  readonly record: EncodingRecord;
  /** All runs of servers so far. */
  readonly runs: readonly Run[];
  readonly departedGraceMs: number;
  /** Minimum time for which a server that cannot renew its lease still counts as live. */
  readonly leaseKeptMs: number;
}

/**
 * Returns a function that reports whether a server serves the object at a key, or departed so recently that its
 * resources must not be treated as deleted.
 */
export function createServedRecently(options: ServedLatelyOptions): (key: string) => boolean {
  const { clock, record, runs, departedGraceMs, leaseKeptMs } = options;
  const graceMs = departedGraceMs * (1 - DRIFT_MAX);
  const isKnown = (run: Run): boolean => {
    const { readyAtMs, endedAtMs = Infinity, troubledSinceMs = Infinity } = run;
    // Peers may never have seen a server that ended before it was ready.
    if (readyAtMs === undefined && endedAtMs < Infinity) return false;
    if (endedAtMs < Infinity && !record.isRecorded(run)) return false;
    return clock.monotonic() < Math.min(endedAtMs, troubledSinceMs + leaseKeptMs * (1 - DRIFT_MAX)) + graceMs;
  };
  return (key) => runs.some((run) => isKnown(run) && record.resourceAt(run, key) !== undefined);
}

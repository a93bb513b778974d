import type { Clock } from "../../src/base/clock.ts";
import type { EncodingRecord } from "./encoding-record.ts";
import type { Run } from "../../src/tools/simulator/server.ts";

/** Clocks of servers run up to this much faster than the world's. */
const DRIFT_MAX = 0.02;

export interface ServedLatelyOptions {
  readonly clock: Clock;
  readonly record: EncodingRecord;
  /** All there were so far. */
  readonly runs: readonly Run[];
  readonly departedGraceMs: number;
  /** How long a server that cannot renew its lease still counts as living, at least. */
  readonly leaseKeptMs: number;
}

/** Whether somebody serves what lies at a key, or has left so short a time ago that nobody may take it for gone. */
export function createServedLately(options: ServedLatelyOptions): (key: string) => boolean {
  const { clock, record, runs, departedGraceMs, leaseKeptMs } = options;
  const graceMs = departedGraceMs * (1 - DRIFT_MAX);
  const isKnown = ({ readyAtMs, endedAtMs = Infinity, troubledSinceMs = Infinity }: Run): boolean => {
    // Of a server that has ended before it was ready, nobody need have heard.
    if (readyAtMs === undefined && endedAtMs < Infinity) return false;
    return clock.monotonic() < Math.min(endedAtMs, troubledSinceMs + leaseKeptMs * (1 - DRIFT_MAX)) + graceMs;
  };
  return (key) => runs.some((run) => isKnown(run) && record.resourceAt(run, key) !== undefined);
}

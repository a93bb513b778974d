/** Checks that a restore of the store ends the watches that are open. */
import { NO_VIOLATIONS, type GuaranteeChecker, type SimulatedRequest } from "../../../src/tools/simulator/checker.ts";
import type { Run } from "../../../src/tools/simulator/server.ts";

/** A server that can reach the store ends its watches within this time. */
const ENDED_WITHIN_MS = 1_000;

interface OpenWatch {
  readonly request: SimulatedRequest;
  /** The run of the server that received the request. */
  readonly run: Run;
  /** Time of the first restore since the watch was opened. */
  restoredAtMs: number | undefined;
  /** Whether the last text that the client received is an error event with code 410. */
  hasExpired: boolean;
}

/**
 * Judges only watches that the server serves itself, because the connection to a peer may be cut or delayed, and only
 * while the server is healthy.
 */
export function restoresEndWatches(runs: readonly Run[]): GuaranteeChecker {
  const open = new Map<string, OpenWatch>();
  const proxied = new Set<string>();
  const isHealthySince = ({ endedAtMs, troubledUntilMs }: Run, atMs: number): boolean =>
    endedAtMs === undefined && troubledUntilMs < atMs;
  const judge = (watch: OpenWatch, atMs: number): string[] => {
    const { request, run, restoredAtMs, hasExpired } = watch;
    if (restoredAtMs === undefined || !isHealthySince(run, restoredAtMs)) return [];
    const what = `the watch of ${request.target} on ${request.serverId}`;
    const lateMs = atMs - restoredAtMs;
    if (lateMs > ENDED_WITHIN_MS) return [`${what} was still open ${lateMs} ms after a restore`];
    return hasExpired ? [] : [`${what} was ended by a restore, but not with code 410`];
  };
  return {
    name: "restores-end-watches",
    promise: "A restore of the store ends all watches with code 410.",
    onHop({ auditId }) {
      proxied.add(auditId);
      return NO_VIOLATIONS;
    },
    onResponse({ request, status }) {
      const run = runs.findLast(({ serverId }) => serverId === request.serverId);
      if (run !== undefined && status === 200 && request.isWatch === true && !proxied.has(request.auditId))
        open.set(request.auditId, { request, run, restoredAtMs: undefined, hasExpired: false });
      return NO_VIOLATIONS;
    },
    onWatch({ request, atMs, text }) {
      const watch = open.get(request.auditId);
      if (watch === undefined) return NO_VIOLATIONS;
      if (text === undefined) {
        open.delete(request.auditId);
        return judge(watch, atMs);
      }
      watch.hasExpired = text.includes('"code":410');
      return NO_VIOLATIONS;
    },
    onRestore({ atMs }) {
      for (const watch of open.values()) watch.restoredAtMs ??= atMs;
      return NO_VIOLATIONS;
    },
    async whenSettled({ world }) {
      return [...open.values()].flatMap((watch) => judge(watch, world.clock.monotonic()));
    },
  };
}

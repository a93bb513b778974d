/** Checks that no server returns a 404 for a resource that a live or recently departed server serves. */
import type { Run } from "../server.ts";
import { NO_VIOLATIONS, type SimulatedResponse, type GuaranteeChecker, type SimulatedRequest } from "../checker.ts";
import { parseGroupVersion } from "../../../meta/group-version.ts";

/** Clocks of servers run at most this much faster than the clock of the world. */
const DRIFT_MAX = 0.02;

interface NoFalse404Options {
  /** All runs of servers so far. */
  readonly runs: readonly Run[];
  readonly departedGraceMs: number;
  /** Minimum time for which a server that cannot renew its lease still counts as live. */
  readonly leaseKeptMs: number;
  /**
   * Whether the history of the store shows that the run existed. Servers need not know of the departure of a run if it
   * does not, because the store was restored from a backup. Default: always true.
   */
  readonly isRecorded?: (run: Run) => boolean;
}

/**
 * A resource must not be reported as unknown while a server that serves it is live. Within the grace period after that
 * server's departure, the resource must be unavailable. Discovery shows only live servers, so it is checked only if
 * both the responding and the serving server are healthy. A server that is paused or cannot reach the store departs
 * when its lease expires.
 */
export function noFalse404(options: NoFalse404Options): GuaranteeChecker {
  const { runs, departedGraceMs, leaseKeptMs, isRecorded = () => true } = options;
  const graceMs = departedGraceMs * (1 - DRIFT_MAX);
  const leftAtMs = ({ endedAtMs = Infinity, troubledSinceMs = Infinity }: Run): number =>
    Math.min(endedAtMs, troubledSinceMs + leaseKeptMs * (1 - DRIFT_MAX));
  const isKnown = (run: Run, { request, atMs }: SimulatedResponse): boolean =>
    isReady(run, request) && atMs < leftAtMs(run) + (isRecorded(run) ? graceMs : 0);
  const isWell = (run: Run, { request }: SimulatedResponse): boolean =>
    isReady(run, request) && run.endedAtMs === undefined && run.troubledUntilMs < request.startedAtMs;
  const findServing = (response: SimulatedResponse): Run | undefined => {
    const { resource, target, serverId } = response.request;
    if (resource !== undefined) return runs.find((run) => isKnown(run, response) && run.served.has(resource));
    const well = runs.filter((run) => isWell(run, response));
    return well.some((run) => run.serverId === serverId) ? well.find((run) => servesPath(run, target)) : undefined;
  };
  return {
    name: "no-false-404",
    promise: "A resource that a live server of the cluster serves is never reported as unknown.",
    onResponse(response) {
      const found = response.unknown === "resource" ? findServing(response) : undefined;
      if (found === undefined) return NO_VIOLATIONS;
      const { target, serverId } = response.request;
      const until = found.endedAtMs === undefined ? "" : `, until ${(found.endedAtMs / 1000).toFixed(3)} s`;
      const holder = `${found.serverId} (${found.release})`;
      return [`${serverId} reported ${target} as unknown, which ${holder} served${until}: ${response.message}`];
    },
  };
}

function isReady({ readyAtMs }: Run, { startedAtMs }: SimulatedRequest): boolean {
  return readyAtMs !== undefined && readyAtMs <= startedAtMs;
}

/** Discovery documents of groups: /apis/<group> and /apis/<group>/<version>. */
function servesPath({ served }: Run, path: string): boolean {
  const [, root, name, ...rest] = path.split("/");
  if (root !== "apis" || name === undefined) return false;
  if (rest.length === 0) return served.hasGroup(name);
  const { group, version } = parseGroupVersion([name, ...rest].join("/"));
  return served.hasGroupVersion(group, version);
}

/**
 * Selects the newest server. Discovery in mode newest shows its resources, because they are those of the cluster after
 * the upgrade of all servers to its release.
 */
import { compareRanks, rankOf, type Ranked } from "./rank.ts";

/** A server that may be the newest. */
export interface Candidate extends Ranked {
  readonly isReachable: boolean;
  /** True if the server has restarted and has not yet published the discovery document of its current run. */
  readonly isOutdated?: boolean;
  readonly isDraining?: boolean;
}

/**
 * Sorts the servers, newest first. Omits servers that are unreachable, draining, or have no current discovery document.
 */
export function newestFirst<Server extends Candidate>(servers: readonly Server[]): Server[] {
  return servers
    .filter(({ isReachable, isOutdated, isDraining }) => isReachable && isOutdated !== true && isDraining !== true)
    .sort((left, right) => compareRanks(rankOf(left), rankOf(right)));
}

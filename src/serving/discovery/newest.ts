/** Selects the newest server for discovery: it shows the cluster as it will be when every server has that release. */
import { compareRanks, rankOf, type Ranked } from "./rank.ts";

/** A server that may be the newest. */
export interface Candidate extends Ranked {
  readonly isReachable: boolean;
  /** It has restarted and not published its discovery document since. */
  readonly isOutdated?: boolean;
  readonly isDraining?: boolean;
}

/** Newest first. Skips servers that are unreachable, draining, or have not published a current discovery document. */
export function newestFirst<Server extends Candidate>(servers: readonly Server[]): Server[] {
  return servers
    .filter(({ isReachable, isOutdated, isDraining }) => isReachable && isOutdated !== true && isDraining !== true)
    .sort((left, right) => compareRanks(rankOf(left), rankOf(right)));
}

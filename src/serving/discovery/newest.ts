/** Discovery of the newest server: the cluster as it will be when every server is like that one. */
import { compareRanks, rankOf, type Ranked } from "./rank.ts";

/** One that may be the newest. */
export interface Candidate extends Ranked {
  readonly isReachable: boolean;
  /** It has started anew, and has not said since what it serves. */
  readonly isOutdated?: boolean;
  readonly isDraining?: boolean;
}

/** Newest first. Whoever cannot be asked, has not said what it serves now or is leaving is passed over. */
export function newestFirst<Server extends Candidate>(servers: readonly Server[]): Server[] {
  return servers
    .filter(({ isReachable, isOutdated, isDraining }) => isReachable && isOutdated !== true && isDraining !== true)
    .sort((left, right) => compareRanks(rankOf(left), rankOf(right)));
}

/** Whose word counts where servers differ: the newest release's, then that of the lowest server ID. */
import { compareNames } from "./order.ts";

export interface Ranked {
  readonly serverId: string;
  /** "1.36"; undefined counts as older than any. */
  readonly release: string | undefined;
}

export interface Rank {
  readonly release: number;
  readonly serverId: string;
}

export function rankOf({ release, serverId }: Ranked): Rank {
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})/.exec(release ?? "") ?? [];
  return { release: major === undefined ? -1 : Number(major) * 1_000 + Number(minor), serverId };
}

/** Negative when the left one counts. */
export function compareRanks(left: Rank, right: Rank): number {
  if (left === right) return 0;
  return right.release - left.release || compareNames(left.serverId, right.serverId);
}

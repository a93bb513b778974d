/**
 * Ranks servers, to decide whose description is used if their documents differ: the server with the highest
 * compatibility version, then the highest binary version, then the lowest server ID ranks first.
 */
import { compareNames } from "./order.ts";

export interface Ranked {
  readonly serverId: string;
  /** The compatibility version, such as "1.36"; undefined ranks below every release. */
  readonly release: string | undefined;
  /** The version of the binary, such as "1.36.4"; undefined ranks below every version. */
  readonly binaryVersion?: string | undefined;
}

export interface Rank {
  readonly release: number;
  readonly binary: number;
  readonly serverId: string;
}

export function rankOf({ release, binaryVersion, serverId }: Ranked): Rank {
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})/.exec(release ?? "") ?? [];
  return {
    release: major === undefined ? -1 : Number(major) * 1_000 + Number(minor),
    binary: binaryOrder(binaryVersion ?? ""),
    serverId,
  };
}

/** Negative if `left` ranks higher. */
export function compareRanks(left: Rank, right: Rank): number {
  if (left === right) return 0;
  return right.release - left.release || right.binary - left.binary || compareNames(left.serverId, right.serverId);
}

const BINARY_VERSION = /^v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,4}))?(?:-(alpha|beta|rc)\.(\d{1,3}))?/;
const STAGES: readonly string[] = ["alpha", "beta", "rc"];

/** Returns the version as one number, because ranks are compared often. */
function binaryOrder(version: string): number {
  const [, major, minor, patch = 0, stage, build = 0] = BINARY_VERSION.exec(version) ?? [];
  if (major === undefined) return -1;
  const maturity = stage === undefined ? STAGES.length : STAGES.indexOf(stage);
  return (((Number(major) * 1_000 + Number(minor)) * 10_000 + Number(patch)) * 10 + maturity) * 1_000 + Number(build);
}

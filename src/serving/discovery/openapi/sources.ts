/**
 * Ranks the servers' documents. Servers with the same index have the same documents and are one source. Where sources
 * differ, the highest rank (rank.ts) decides, regardless of which server is local or reachable.
 */
import { compareGroups } from "../../../objects/catalog/group-order.ts";
import { compareNames, compareApiVersions } from "../order.ts";
import { compareRanks, rankOf, type Rank, type Ranked } from "../rank.ts";
import { parseGroupVersionPath, type OpenApiIndex } from "./decode-peer-response.ts";
import type { PeerSource } from "./peer-indexes.ts";
import type { OpenApiPeer } from "./peers.ts";

/** Servers with the same documents. */
export interface SharedDocuments {
  readonly index: OpenApiIndex;
  readonly isLocal: boolean;
  /** Best first; without the local server. */
  readonly peers: readonly OpenApiPeer[];
}

export type RankedSources = () => Promise<readonly SharedDocuments[]>;

/** Best first; includes the source of the local server. */
export function toSources(self: Ranked, localIndex: OpenApiIndex, peers: readonly PeerSource[]): SharedDocuments[] {
  const servers: { readonly rank: Rank; readonly index: OpenApiIndex; readonly peer: OpenApiPeer | undefined }[] = [
    { rank: rankOf(self), index: localIndex, peer: undefined },
    ...peers.map(({ peer, index }) => ({ rank: rankOf(peer), index, peer })),
  ];
  const byDigest = Map.groupBy(
    servers.sort((left, right) => compareRanks(left.rank, right.rank)),
    ({ index }) => index.digest,
  );
  return Array.from(byDigest.values(), (those) => ({
    index: those[0]?.index ?? localIndex,
    isLocal: those.some(({ peer }) => peer === undefined),
    peers: those.flatMap(({ peer }) => peer ?? []),
  }));
}

/** Equal for the same documents in the same order. */
export function keyOf(sources: readonly SharedDocuments[]): string {
  return sources.map(({ index }) => index.digest).join(" ");
}

/** The hash of the best server for each path, in the order of discovery. */
export function mergeHashes(sources: readonly SharedDocuments[]): (readonly [path: string, hash: string])[] {
  const hashes = new Map<string, string>();
  for (const { index } of sources)
    for (const [path, hash] of index.hashes) if (!hashes.has(path)) hashes.set(path, hash);
  return [...hashes].sort(([left], [right]) => comparePaths(left, right));
}

function comparePaths(left: string, right: string): number {
  const [one, other] = [parseGroupVersionPath(left), parseGroupVersionPath(right)];
  if (one === undefined || other === undefined) return compareNames(left, right);
  return compareGroups(one.group, other.group) || compareApiVersions(one.version, other.version);
}

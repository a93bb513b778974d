/**
 * Groups the servers by their OpenAPI documents and sorts the groups by rank (rank.ts). Servers with the same index
 * have the same documents and form one source. If sources differ, the one with the highest rank is used, even if it is
 * not local or its servers are unreachable.
 */
import { compareGroups } from "../../../objects/catalog/group-order.ts";
import { compareNames, compareApiVersions } from "../order.ts";
import { compareRanks, rankOf, type Rank, type Ranked } from "../rank.ts";
import { parseGroupVersionPath, type OpenApiIndex } from "./decode-peer-response.ts";
import type { PeerSource } from "./peer-indexes.ts";
import type { OpenApiPeer } from "./peers.ts";

/** One source: the servers that have the same documents. */
export interface SharedDocuments {
  readonly index: OpenApiIndex;
  readonly isLocal: boolean;
  /** The peers, highest rank first; the local server is not among them. */
  readonly peers: readonly OpenApiPeer[];
}

export type RankedSources = () => Promise<readonly SharedDocuments[]>;

/** Returns the sources, highest rank first, including the source of the local server. */
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

/** A key that is equal for the same documents in the same order. */
export function keyOf(sources: readonly SharedDocuments[]): string {
  return sources.map(({ index }) => index.digest).join(" ");
}

/** For each path the hash of the source with the highest rank, in the order of discovery. */
export function mergeHashes(sources: readonly SharedDocuments[]): (readonly [path: string, hash: string])[] {
  const hashes = new Map<string, string>();
  for (const { index } of sources)
    for (const [path, hash] of index.hashes) if (!hashes.has(path)) hashes.set(path, hash);
  return [...hashes].sort(([left], [right]) => comparePaths(left, right));
}

/** Group versions in the order of discovery, after all other documents. */
function comparePaths(left: string, right: string): number {
  const [one, other] = [parseGroupVersionPath(left), parseGroupVersionPath(right)];
  if (one === undefined || other === undefined)
    return one === other ? compareNames(left, right) : one === undefined ? -1 : 1;
  return compareGroups(one.group, other.group) || compareApiVersions(one.version, other.version);
}

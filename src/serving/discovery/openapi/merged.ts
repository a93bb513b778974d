/**
 * The OpenAPI documents of the built-in resources of the whole cluster, which are the same on every server. An OpenAPI 3
 * document is not merged: it comes from the server with the highest rank that serves the group version.
 */
import { formatGroupVersion } from "../../../meta/group-version.ts";
import { createFetchFromPeer, type PeerFetchOptions } from "./fetch-from-peer.ts";
import type { EncodedOpenApi, FoundOpenApi, OpenApiDocuments } from "./documents.ts";
import type { LocalOpenApi } from "./local.ts";
import { createMergedV2 } from "./merged-v2.ts";
import { createIndex, parseGroupVersionPath, type OpenApiIndex } from "./decode-peer-response.ts";
import { createPeerV2Documents, createPeerV3Documents, type PeerV3Documents } from "./peer-documents.ts";
import { createPeerIndexes } from "./peer-indexes.ts";
import type { OpenApiPeers } from "./peers.ts";
import { compareRanks, rankOf, type Ranked } from "../rank.ts";
import type { RunInNextTurn } from "./v2-encode.ts";
import { keyOf, mergeHashes, toSources, type RankedSources } from "./sources.ts";

export interface MergedOptions extends PeerFetchOptions {
  readonly self: Ranked;
  readonly local: LocalOpenApi;
  readonly nextTurn?: RunInNextTurn | undefined;
}

export function createMergedDocuments(options: MergedOptions): OpenApiDocuments {
  const { peers, clock, self, local, nextTurn } = options;
  const ask = createFetchFromPeer(options);
  const indexes = createPeerIndexes({ peers, clock, ask });
  const sources: RankedSources = async () => toSources(self, local.hashIndex, await indexes.sources());
  const v2 = createMergedV2({
    local,
    sources,
    peerDocuments: createPeerV2Documents({ indexes, clock, ask }),
    nextTurn,
  });
  let last: { readonly key: string; readonly index: OpenApiIndex } | undefined;
  return {
    async index() {
      const ranked = await sources();
      if (ranked.length === 1) return local.index();
      const key = keyOf(ranked);
      if (last?.key !== key) last = { key, index: createIndex(new Map(mergeHashes(ranked))) };
      return last.index;
    },
    find: createFinder({ peers, local, sources, peerDocuments: createPeerV3Documents({ indexes, clock, ask }) }),
    v2: () => v2.json(),
    v2Protobuf: () => v2.protobuf(),
  };
}

function createFinder(parts: {
  readonly peers: OpenApiPeers;
  readonly local: LocalOpenApi;
  readonly sources: RankedSources;
  readonly peerDocuments: PeerV3Documents;
}): OpenApiDocuments["find"] {
  const { peers, local, peerDocuments } = parts;
  const atHand = (path: string, hash: string): EncodedOpenApi | undefined =>
    local.hashIndex.hashes.get(path) === hash ? local.document(path) : peerDocuments.known(path, hash);

  return async (path, asked) => {
    const known = asked === undefined ? undefined : atHand(path, asked);
    if (known !== undefined) return { kind: "document", document: known };
    const holders = (await parts.sources()).filter(({ index }) => index.hashes.has(path));
    const hashes = new Set(holders.flatMap(({ index }) => index.hashes.get(path) ?? []));
    const [decided] = hashes;
    if (decided === undefined) return findUnlisted(path, peers, peerDocuments);
    // Every hash that any server has is accepted, not only the hash in the index of this server. Another server may
    // briefly have a different view of the cluster, and the two servers must not redirect a client back and forth.
    if (asked !== undefined && !hashes.has(asked)) return { kind: "moved", hash: decided };
    for (const hash of new Set([asked ?? decided, ...hashes])) {
      const owners = holders.filter(({ index }) => index.hashes.get(path) === hash);
      const fetchIt = (): Promise<EncodedOpenApi | undefined> =>
        peerDocuments.fetch(
          path,
          owners.flatMap((owner) => owner.peers),
        );
      const document = atHand(path, hash) ?? (await fetchIt());
      if (document !== undefined) return { kind: "document", document };
    }
    return unreachable(path);
  };
}

/** Finds a document that no known index lists: a peer whose index is unknown may serve the group version. */
async function findUnlisted(path: string, peers: OpenApiPeers, documents: PeerV3Documents): Promise<FoundOpenApi> {
  const groupVersion = parseGroupVersionPath(path);
  if (groupVersion === undefined) return { kind: "unknown" };
  const { group, version } = groupVersion;
  const holders = peers.list().filter((peer) => peer.hasGroupVersion(group, version));
  const document = await documents.fetch(
    path,
    holders.toSorted((left, right) => compareRanks(rankOf(left), rankOf(right))),
  );
  if (document !== undefined) return { kind: "document", document };
  if (holders.length > 0) return unreachable(path);
  if (!peers.hasUndescribed()) return { kind: "unknown" };
  return { kind: "unavailable", message: "a live server has not yet published what it serves" };
}

function unreachable(path: string): FoundOpenApi {
  const groupVersion = parseGroupVersionPath(path);
  const name = groupVersion === undefined ? path : formatGroupVersion(groupVersion);
  return { kind: "unavailable", message: `no server that serves ${name} is reachable` };
}

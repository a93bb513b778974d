/**
 * The documents of the whole cluster, the same on every server. OpenAPI 3 documents are never mixed: each comes from
 * one server.
 */
import { formatGroupVersion } from "../../../meta/group-version.ts";
import { createFetchFromPeer, type PeerFetchOptions } from "./fetch-from-peer.ts";
import { encodeIndex, type EncodedOpenApi, type FoundOpenApi, type OpenApiDocuments } from "./documents.ts";
import type { LocalOpenApi } from "./local.ts";
import { createMergedV2 } from "./merged-v2.ts";
import { parseGroupVersionPath } from "./decode-peer-response.ts";
import { createPeerV2Documents, createPeerV3Documents, type PeerV3Documents } from "./peer-documents.ts";
import { createPeerIndexes } from "./peer-indexes.ts";
import type { OpenApiPeers } from "./peers.ts";
import { compareRanks, rankOf, type Ranked } from "../rank.ts";
import { keyOf, mergeHashes, toSources, type RankedSources } from "./sources.ts";

export interface MergedOptions extends PeerFetchOptions {
  readonly self: Ranked;
  readonly local: LocalOpenApi;
}

export function createMergedDocuments(options: MergedOptions): OpenApiDocuments {
  const { peers, clock, self, local } = options;
  const ask = createFetchFromPeer(options);
  const indexes = createPeerIndexes({ peers, clock, ask });
  const sources: RankedSources = async () => toSources(self, local.hashIndex(), await indexes.sources());
  const v2 = createMergedV2({ local, sources, peerDocuments: createPeerV2Documents({ indexes, clock, ask }) });
  let last: { readonly key: string; readonly encoded: EncodedOpenApi } | undefined;
  return {
    async index() {
      const ranked = await sources();
      if (ranked.length === 1) return local.index();
      const key = keyOf(ranked);
      if (last?.key !== key) last = { key, encoded: encodeIndex(mergeHashes(ranked)) };
      return last.encoded;
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
    local.hashes.get(path) === hash ? local.document(path) : peerDocuments.known(path, hash);

  return async (path, asked) => {
    const known = asked === undefined ? undefined : atHand(path, asked);
    if (known !== undefined) return { kind: "document", document: known };
    const holders = (await parts.sources()).filter(({ index }) => index.hashes.has(path));
    const hashes = new Set(holders.flatMap(({ index }) => index.hashes.get(path) ?? []));
    const [decided] = hashes;
    if (decided === undefined) return findUnlisted(path, peers, peerDocuments);
    // A document of any server is returned under its own hash, even if the index of this server does not list it.
    // Another server may briefly have a different view of the cluster, and the two must not redirect a client back and
    // forth.
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

/** No index lists it, but a server whose index is unknown may have it. */
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

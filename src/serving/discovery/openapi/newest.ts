/**
 * The OpenAPI documents of the built-in resources of the newest reachable server, which every server returns byte for
 * byte. A document that the newest server does not have is not found, even if another server has it.
 */
import { newestFirst, type Candidate } from "../newest.ts";
import { createFetchFromPeer } from "./fetch-from-peer.ts";
import { withHash, type EncodedOpenApi, type FoundOpenApi, type OpenApiDocuments } from "./documents.ts";
import type { LocalOpenApi } from "./local.ts";
import type { MergedOptions } from "./merged.ts";
import { decodeV2Document, parseGroupVersionPath, type OpenApiIndex } from "./decode-peer-response.ts";
import {
  createPeerV2Documents,
  createPeerV3Documents,
  type PeerV2Documents,
  type PeerV3Documents,
} from "./peer-documents.ts";
import { createPeerIndexes, type PeerSource } from "./peer-indexes.ts";
import { encodeV2Protobuf, type RunInNextTurn } from "./v2-encode.ts";
import { sourceOf } from "./v2-source.ts";

interface Servers {
  /** Peers newer than this server, newest first. */
  readonly newer: readonly PeerSource[];
  /** All peers whose index is known. */
  readonly all: readonly PeerSource[];
}

export function createNewestDocuments(options: MergedOptions): OpenApiDocuments {
  const { peers, clock, local, self, nextTurn } = options;
  const ask = createFetchFromPeer(options);
  const indexes = createPeerIndexes({ peers, clock, ask });
  const own: Candidate = { ...self, isReachable: true };
  const servers = async (): Promise<Servers> => {
    const all = await indexes.sources();
    const ordered = newestFirst([own, ...all.map(({ peer }) => peer)]);
    const newer = ordered.slice(0, ordered.indexOf(own));
    return { all, newer: newer.flatMap((peer) => all.find((source) => source.peer === peer) ?? []) };
  };
  const v2 = createNewestV2({
    local,
    servers,
    documents: createPeerV2Documents({ indexes, clock, ask }),
    nextTurn,
  });
  return {
    index: async () => (await servers()).newer[0]?.index ?? local.hashIndex,
    find: createFinder({
      local,
      servers,
      hasUndescribed: () => peers.hasUndescribed(),
      documents: createPeerV3Documents({ indexes, clock, ask }),
    }),
    v2: async () => (await v2()).json,
    v2Protobuf: async () => (await v2()).protobuf(),
  };
}

function createFinder(parts: {
  readonly local: LocalOpenApi;
  readonly servers: () => Promise<Servers>;
  readonly hasUndescribed: () => boolean;
  readonly documents: PeerV3Documents;
}): OpenApiDocuments["find"] {
  const { local, documents } = parts;
  const atHand = (path: string, hash: string): EncodedOpenApi | undefined =>
    local.hashIndex.hashes.get(path) === hash ? local.document(path) : documents.known(path, hash);

  return async (path, asked): Promise<FoundOpenApi> => {
    const known = asked === undefined ? undefined : atHand(path, asked);
    if (known !== undefined) return { kind: "document", document: known };
    const { newer, all } = await parts.servers();
    const { hashes } = newer[0]?.index ?? local.hashIndex;
    const current = hashes.get(path);
    if (current === undefined) return absent(path, parts.hasUndescribed());
    if (asked !== undefined && asked !== current) {
      // Every hash that any peer has is accepted: another server may briefly treat a different server as the newest,
      // and the two servers must not redirect a client back and forth.
      const holders = all.filter(({ index }) => index.hashes.get(path) === asked).map(({ peer }) => peer);
      if (holders.length === 0) return { kind: "moved", hash: current };
      const document = await documents.fetch(path, holders);
      if (document !== undefined) return { kind: "document", document };
    }
    for (const { peer, index } of newer) {
      const hash = index.hashes.get(path);
      if (hash === undefined) break;
      const document = atHand(path, hash) ?? (await documents.fetch(path, [peer]));
      if (document !== undefined) return { kind: "document", document };
    }
    const document = local.document(path);
    return document === undefined ? unreachable(path) : { kind: "document", document };
  };
}

function absent(path: string, hasUndescribed: boolean): FoundOpenApi {
  if (!hasUndescribed || parseGroupVersionPath(path) === undefined) return { kind: "unknown" };
  return { kind: "unavailable", message: "a live server has not yet published what it serves" };
}

function unreachable(path: string): FoundOpenApi {
  return { kind: "unavailable", message: `no server that has ${path} is reachable` };
}

interface Whole {
  readonly index: OpenApiIndex;
  readonly json: EncodedOpenApi;
  protobuf(): Promise<EncodedOpenApi>;
}

/** Returns the OpenAPI 2 document of the newest server that returns it, and otherwise that of this server. */
function createNewestV2(parts: {
  readonly local: LocalOpenApi;
  readonly servers: () => Promise<Servers>;
  readonly documents: PeerV2Documents;
  readonly nextTurn: RunInNextTurn | undefined;
}): () => Promise<Whole> {
  const { local, nextTurn } = parts;
  let last: Whole | undefined;
  return async () => {
    const localIndex = local.hashIndex;
    for (const source of (await parts.servers()).newer) {
      const { index } = source;
      if (index.digest === localIndex.digest) break;
      if (last?.index.digest === index.digest) return last;
      const found = (await parts.documents.load([source])).get(index.digest);
      if (found !== undefined) return (last = wholeOf(index, found.bytes, nextTurn));
    }
    return { index: localIndex, json: await local.v2(), protobuf: () => local.v2Protobuf() };
  };
}

function wholeOf(index: OpenApiIndex, bytes: Buffer, nextTurn: RunInNextTurn | undefined): Whole {
  let protobuf: Promise<EncodedOpenApi> | undefined;
  return {
    index,
    json: withHash(bytes),
    protobuf: () => (protobuf ??= encodeV2Protobuf(sourceOf(decodeV2Document(bytes)), nextTurn)),
  };
}

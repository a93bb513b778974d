/**
 * Fetches the documents of peers on demand and caches them by content within a size limit, so that peers with the same
 * document share one entry. Concurrent requests share one fetch. No promise rejects: an unavailable document is
 * undefined.
 */
import type { Clock } from "../../../base/clock.ts";
import { createRecentRequests, type FetchFromPeer } from "./fetch-from-peer.ts";
import { createByteCache } from "./byte-cache.ts";
import { INDEX_TARGET, V2_TARGET, type EncodedOpenApi } from "./documents.ts";
import { PEERS_TRIED_MAX, V2_CACHE_BYTES_MAX, V3_CACHE_BYTES_MAX } from "./openapi-limits.ts";
import { checkV3Document, decodeIndex, decodeV2Document } from "./decode-peer-response.ts";
import type { PeerIndexes, PeerSource } from "./peer-indexes.ts";
import type { OpenApiPeer } from "./peers.ts";
import { servedIndex, servedV2Document } from "./served-documents.ts";
import { createSingleFlight } from "./single-flight.ts";

interface PeerDocumentOptions {
  readonly indexes: PeerIndexes;
  readonly clock: Clock;
  readonly ask: FetchFromPeer;
}

export interface PeerV3Documents {
  /** Returns the document from the cache. */
  known(path: string, hash: string): EncodedOpenApi | undefined;
  /**
   * Fetches the document from the first of the holders that returns it. Its hash may differ from the one in the index
   * of that peer.
   */
  fetch(path: string, holders: readonly OpenApiPeer[]): Promise<EncodedOpenApi | undefined>;
}

export function createPeerV3Documents({ indexes, ask }: PeerDocumentOptions): PeerV3Documents {
  const cache = createByteCache(V3_CACHE_BYTES_MAX);
  const flights = createSingleFlight<EncodedOpenApi | undefined>();

  const fetchFrom = async (peer: OpenApiPeer, path: string): Promise<EncodedOpenApi | undefined> => {
    // The request has no hash, so that the peer never redirects it. The ETag contains the hash.
    const document = await ask(peer, `${INDEX_TARGET}/${path}`, (response) => ({
      bytes: response.body,
      hash: checkV3Document(response.body, response.header("etag")),
    }));
    const shown = indexes.known(peer)?.hashes.get(path);
    if (shown !== undefined && shown !== document?.hash) indexes.markOutdated(peer);
    if (document !== undefined) cache.set(`${path} ${document.hash}`, document);
    return document;
  };

  return {
    known: (path, hash) => cache.get(`${path} ${hash}`),
    async fetch(path, holders) {
      for (const peer of toTry(holders)) {
        const document = await flights.run(`${peer.serverId} ${path}`, () => fetchFrom(peer, path));
        if (document !== undefined) return document;
      }
      return undefined;
    },
  };
}

export interface PeerV2Documents {
  /** The OpenAPI 2 documents that could be fetched, keyed by the digest of the source's index. */
  load(sources: readonly PeerSource[]): Promise<ReadonlyMap<string, EncodedOpenApi>>;
}

export function createPeerV2Documents({ indexes, clock, ask }: PeerDocumentOptions): PeerV2Documents {
  const cache = createByteCache(V2_CACHE_BYTES_MAX);
  const flights = createSingleFlight<void>();
  const askedLately = createRecentRequests(clock);

  const fetchFrom = async (peer: OpenApiPeer, digest: string): Promise<void> => {
    const bytes = await ask(peer, V2_TARGET, ({ body }) => {
      const document = decodeV2Document(body);
      const served = servedV2Document(document, peer);
      return served === document ? body : Buffer.from(JSON.stringify(served));
    });
    if (bytes === undefined) return;
    // The cached document is used for every peer with this index, so this peer's index must still be the same after the
    // fetch.
    const now = await ask(peer, INDEX_TARGET, ({ body }) => servedIndex(decodeIndex(body), peer).digest);
    if (now === digest) cache.set(digest, { bytes, hash: digest });
    else indexes.markOutdated(peer);
  };

  const fetchOnce = async (digest: string, holders: readonly PeerSource[]): Promise<void> => {
    if (cache.get(digest) !== undefined || askedLately.has(digest)) return;
    for (const peer of toTry(holders.map((holder) => holder.peer))) {
      await fetchFrom(peer, digest);
      askedLately.add(digest);
      if (cache.get(digest) !== undefined) return;
    }
  };

  return {
    async load(sources) {
      const holders = Map.groupBy(sources, ({ index }) => index.digest);
      cache.retain((digest) => holders.has(digest));
      await Promise.all(Array.from(holders, ([digest, those]) => flights.run(digest, () => fetchOnce(digest, those))));
      const known = new Map<string, EncodedOpenApi>();
      for (const digest of holders.keys()) {
        const document = cache.get(digest);
        if (document !== undefined) known.set(digest, document);
      }
      return known;
    },
  };
}

function toTry(holders: readonly OpenApiPeer[]): OpenApiPeer[] {
  return holders.filter(({ isReachable }) => isReachable).slice(0, PEERS_TRIED_MAX);
}

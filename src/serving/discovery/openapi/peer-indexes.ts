/**
 * Caches the index of the OpenAPI 3 documents of each peer. The last valid index is kept while the peer is live, even
 * if the peer is unreachable. Callers see only the group versions with built-in resources, which change only if the peer
 * restarts or its discovery document changes.
 */
import type { Clock } from "../../../base/clock.ts";
import { createRecentRequests, type FetchFromPeer } from "./fetch-from-peer.ts";
import { INDEX_TARGET } from "./documents.ts";
import { decodeIndex, type OpenApiIndex } from "./decode-peer-response.ts";
import type { OpenApiPeer, OpenApiPeers } from "./peers.ts";
import { servedIndex } from "./served-documents.ts";
import { createSingleFlight } from "./single-flight.ts";

export interface PeerSource {
  readonly peer: OpenApiPeer;
  readonly index: OpenApiIndex;
}

export interface PeerIndexes {
  /** Fetches the indexes that may have changed, and returns the peers whose index is known. Never rejects. */
  sources(): Promise<PeerSource[]>;
  /** Returns the index from the cache. */
  known(peer: OpenApiPeer): OpenApiIndex | undefined;
  /** Called when a document of the peer differs from the peer's index. */
  markOutdated(peer: OpenApiPeer): void;
}

interface KnownIndex {
  readonly index: OpenApiIndex;
  /** The documentKey of the peer when the index was fetched; undefined if the index is outdated. */
  documentKey: string | undefined;
}

export function createPeerIndexes(options: {
  readonly peers: OpenApiPeers;
  readonly clock: Clock;
  readonly ask: FetchFromPeer;
}): PeerIndexes {
  const { peers, clock, ask } = options;
  const indexes = new Map<string, KnownIndex>();
  const flights = createSingleFlight<void>();
  const askedLately = createRecentRequests(clock);

  const isDue = ({ serverId, documentKey }: OpenApiPeer): boolean =>
    indexes.get(serverId)?.documentKey !== documentKey && !askedLately.has(`${serverId} ${documentKey}`);

  const refresh = async (peer: OpenApiPeer): Promise<void> => {
    const { serverId, documentKey } = peer;
    const index = await ask(peer, INDEX_TARGET, ({ body }) => decodeIndex(body));
    askedLately.add(`${serverId} ${documentKey}`);
    if (index !== undefined) indexes.set(serverId, { index, documentKey });
  };

  const keepCurrent = async (peer: OpenApiPeer): Promise<void> => {
    if (!peer.isReachable) return;
    // A fetch in progress may have begun before the peer's documents changed. In that case, a second fetch follows.
    await flights.inProgress(peer.serverId);
    if (isDue(peer)) await flights.run(peer.serverId, () => refresh(peer));
    else await flights.inProgress(peer.serverId);
  };

  return {
    async sources() {
      const list = peers.list();
      const ids = new Set(list.map(({ serverId }) => serverId));
      for (const serverId of indexes.keys()) if (!ids.has(serverId)) indexes.delete(serverId);
      await Promise.all(list.map(keepCurrent));
      return list.flatMap((peer) => {
        const index = indexes.get(peer.serverId)?.index;
        return index === undefined ? [] : [{ peer, index: servedIndex(index, peer) }];
      });
    },
    known: ({ serverId }) => indexes.get(serverId)?.index,
    markOutdated({ serverId }) {
      const known = indexes.get(serverId);
      if (known !== undefined) known.documentKey = undefined;
    },
  };
}

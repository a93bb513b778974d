/**
 * Sends one request to a peer, with a deadline and a size limit, and passes the response to a decoder, which may reject
 * it.
 */
import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import { messageOf, within } from "../../../base/within.ts";
import { INDEX_TARGET } from "./documents.ts";
import {
  PEER_REQUEST_TIMEOUT_MS,
  PEER_RETRY_MS,
  PEER_DOCUMENT_BYTES_MAX,
  PEER_INDEX_BYTES_MAX,
} from "./openapi-limits.ts";
import type { OpenApiPeer, OpenApiPeerResponse, OpenApiPeers } from "./peers.ts";

export interface PeerFetchOptions {
  readonly peers: OpenApiPeers;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Returns the result of `read`. If the request fails or `read` rejects the response, logs a warning and returns
 * undefined. The promise never rejects.
 */
export type FetchFromPeer = <T>(
  peer: OpenApiPeer,
  target: string,
  read: (answer: OpenApiPeerResponse) => T,
) => Promise<T | undefined>;

export function createFetchFromPeer({ peers, clock, log }: PeerFetchOptions): FetchFromPeer {
  return async ({ serverId }, target, read) => {
    try {
      return read(await fetchInTime(serverId, target));
    } catch (error) {
      log.warn("fetching an OpenAPI document from a peer failed", { peer: serverId, target, reason: messageOf(error) });
      return undefined;
    }
  };

  async function fetchInTime(serverId: string, target: string): Promise<OpenApiPeerResponse> {
    const response = await within(clock, PEER_REQUEST_TIMEOUT_MS, (signal) =>
      peers.fetch(serverId, target, ["accept", "application/json"], signal),
    );
    if (response.status !== 200) throw new Error(`the response has status ${response.status}`);
    const bytesMax = target === INDEX_TARGET ? PEER_INDEX_BYTES_MAX : PEER_DOCUMENT_BYTES_MAX;
    if (response.body.length > bytesMax) throw new Error(`the response is longer than ${bytesMax} bytes`);
    return response;
  }
}

/** Remembers the requests of the last seconds, so that a request without a usable response is not repeated at once. */
interface RecentRequests {
  has(question: string): boolean;
  add(question: string): void;
}

export function createRecentRequests(clock: Clock): RecentRequests {
  const askedAtMs = new Map<string, number>();
  const isRecent = (atMs: number): boolean => clock.monotonic() - atMs < PEER_RETRY_MS;
  return {
    has(question) {
      const atMs = askedAtMs.get(question);
      return atMs !== undefined && isRecent(atMs);
    },
    add(question) {
      for (const [other, atMs] of askedAtMs) if (!isRecent(atMs)) askedAtMs.delete(other);
      askedAtMs.set(question, clock.monotonic());
    },
  };
}

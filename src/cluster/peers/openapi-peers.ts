import type { OpenApiPeers } from "../../serving/discovery/openapi/peers.ts";
import type { Peers } from "./peers.ts";

const RESPONSE_BYTES_MAX = 32 * 1024 * 1024;
/** The caller has its own deadline, which is shorter. */
const RESPONSE_MS = 10_000;

/**
 * A server that cannot call peers describes none of them: then `list` is empty and `hasUndescribed` covers them all.
 */
export function openApiPeers({ ask, documents, view }: Peers): OpenApiPeers {
  return {
    list() {
      const { peers } = view();
      return documents.sources().map(({ documentKey = "", ...server }) => ({
        ...server,
        documentKey,
        hasGroupVersion: (group, version) =>
          peers.find(({ id }) => id === server.serverId)?.document?.served.hasGroupVersion(group, version) === true,
      }));
    },
    hasUndescribed: documents.hasUndescribed,
    fetch(serverId, target, headers, signal) {
      const address = view().peers.find(({ id }) => id === serverId)?.address;
      if (ask === undefined || address === undefined)
        return Promise.reject(new Error(`${serverId} has not published its address`));
      return ask({ address, target, headers, timeoutMs: RESPONSE_MS, bytesMax: RESPONSE_BYTES_MAX, signal });
    },
  };
}

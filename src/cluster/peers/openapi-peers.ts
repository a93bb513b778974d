/** The peers as the source of OpenAPI documents that are merged into those of this server. */
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { OpenApiPeers } from "../../serving/discovery/openapi/peers.ts";
import type { Peers } from "./peers.ts";

const RESPONSE_BYTES_MAX = 32 * 1024 * 1024;
/** Timeout of a request for an OpenAPI document. Callers have a shorter deadline of their own. */
const RESPONSE_MS = 10_000;

/**
 * The peers from which OpenAPI documents can be requested. If no peer can be called, `list` is empty and
 * `hasUndescribed` is true if there are any peers.
 */
export function openApiPeers({ ask, documents, view }: Peers): OpenApiPeers {
  return {
    list: () =>
      documents.sources().map(({ documentKey = "", run = "", groups, ...server }) => ({
        ...server,
        // A peer that restarts may have other OpenAPI documents although its discovery document is the same.
        documentKey: `${run} ${documentKey}`,
        hasGroupVersion: (group, version) => listsGroupVersion(groups, group, version),
      })),
    hasUndescribed: documents.hasUndescribed,
    fetch(serverId, target, headers, signal) {
      const address = view().peers.find(({ id }) => id === serverId)?.address;
      if (ask === undefined || address === undefined)
        return Promise.reject(new Error(`${serverId} has not published its address`));
      return ask({ address, target, headers, timeoutMs: RESPONSE_MS, bytesMax: RESPONSE_BYTES_MAX, signal });
    },
  };
}

/** False for a stale group version: the aggregated server behind it did not respond. */
function listsGroupVersion(groups: readonly DiscoveryGroup[], group: string, version: string): boolean {
  return groups.some(
    ({ name, versions }) =>
      name === group && versions.some((one) => one.version === version && one.freshness === "Current"),
  );
}

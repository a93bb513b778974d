/** The filters of a server of a cluster, each with what it needs. Their order is handler-chain.ts. */
import type { Catalogue } from "../objects/catalogue/catalogue.ts";
import type { WithInfo } from "../serving/http/filters/request-info.ts";
import type { ApiRequest, ApiResponse } from "../serving/http/message.ts";
import { fence } from "../cluster/peers/fence.ts";
import { isReview } from "../serving/endpoints/reviews/reviews.ts";
import { NOT_SERVED_HEADER, SERVED_BY_HEADER } from "../cluster/peers/hop.ts";
import { peerProxy } from "../cluster/peers/peer-proxy.ts";
import type { ResourceQuestion } from "../cluster/peers/view.ts";
import { writeGate } from "../cluster/storageversion/write-gate.ts";
import { createUnmetNeed } from "./capabilities.ts";
import type { Cluster } from "./cluster.ts";
import type { Filters } from "./handler-chain.ts";
import { requestFilters, type RequestFilterParts } from "./request-filters.ts";
import type { ResourceTable } from "./resources.ts";
import type { Shared } from "./shared-resources.ts";
import type { StorageVersions } from "./storage-versions.ts";

export interface FilterParts extends Omit<RequestFilterParts, "isKnown" | "isNotOurs"> {
  readonly table: Pick<ResourceTable, "resolve">;
  readonly catalogue: Catalogue;
  readonly cluster: Cluster;
  readonly shared: Shared;
  readonly storageVersions: StorageVersions | undefined;
}

export function createFilters(parts: FilterParts): Filters {
  const { config, metrics, table, catalogue, cluster, storageVersions, loopback } = parts;
  const { peers } = config;
  const isLoopback = (request: ApiRequest): boolean => request.connection === loopback;
  const isServed = (asked: ResourceQuestion): boolean =>
    cluster.view().peers.some(({ document }) => document?.served.has(asked));
  return {
    ...requestFilters({
      ...parts,
      isKnown: (info) => table.resolve(info.group, info.version, info.resource) !== undefined || isServed(info),
      isNotOurs,
    }),
    aggregation: parts.shared.filter,
    writeGate:
      storageVersions === undefined
        ? (next) => next
        : writeGate({ state: storageVersions.gate, isLoopback, serverId: peers.serverId, metrics }),
    peerProxy: peers.isEnabled
      ? peerProxy({
          view: cluster.view,
          forward: cluster.forward,
          unmetNeed: createUnmetNeed(catalogue, peers.routing),
          isVersionAware: config.isVersionAware,
          catchUp: cluster.catchUp,
        })
      : (next) => next,
    fence: fence({
      fence: cluster.identity.fence,
      isExempt: (request) => isLoopback(request) || isReview(request.info.group, request.info.resource),
    }),
  };
}

/** What servers tell each other, and what a pod says that a peer has reached. */
function isNotOurs({ info }: WithInfo, { headers }: ApiResponse): boolean {
  if (headers[NOT_SERVED_HEADER] !== undefined) return true;
  return info.subresource === "proxy" && headers[SERVED_BY_HEADER] !== undefined;
}

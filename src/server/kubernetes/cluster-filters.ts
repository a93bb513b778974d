/**
 * Creates the filters that depend on other servers: proxying to aggregated API servers, write gate, request resolution
 * with peer routing, and fence.
 */
import { createUnmetNeed } from "../../cluster/peers/capabilities.ts";
import type { Peers } from "../../cluster/peers/peers.ts";
import { fence } from "../../cluster/peers/fence.ts";
import { peerProxy } from "../../cluster/peers/peer-proxy.ts";
import type { StorageVersions } from "../../cluster/storageversion/create-storage-versions.ts";
import { writeGate } from "../../cluster/storageversion/write-gate.ts";
import type { AggregatedServers } from "../../extensions/aggregation/aggregated-servers.ts";
import { resolveRequest } from "../../serving/endpoints/resolve-or-not-found.ts";
import { isReview } from "../../serving/endpoints/reviews/reviews.ts";
import type { RegistryContext } from "../../serving/registry/context.ts";
import { translated } from "../../serving/registry/storage-errors.ts";
import type { Cluster } from "../assembly.ts";
import type { Foundation } from "../foundation.ts";
import type { KubernetesResources } from "./resources.ts";

interface ClusterFilterParts {
  readonly resources: KubernetesResources;
  readonly peers: Peers;
  readonly storageVersions: StorageVersions | undefined;
  readonly aggregated: AggregatedServers;
  readonly context: RegistryContext;
}

export function createClusterFilters(on: Foundation, parts: ClusterFilterParts): Cluster["filters"] {
  const { config, metrics, loopback } = on;
  const { resources, peers, storageVersions, aggregated, context } = parts;
  const { catalog, table, custom } = resources;
  const { isLoopback } = loopback;
  const { serverId, isEnabled, routing } = config.peers;
  const builtInGroups = new Set(catalog.groups.map(({ name }) => name));
  const route = peerProxy({
    view: peers.view,
    forward: peers.forward,
    onUnresolved: peers.onUnresolved,
    unmetNeed: createUnmetNeed(catalog, routing),
    isVersionAware: config.isVersionAware,
    catchUp: peers.catchUp,
  });
  return {
    aggregation: aggregated.filter,
    writeGate:
      storageVersions === undefined
        ? (next) => next
        : writeGate({ state: storageVersions.gate, isLoopback, serverId, metrics }),
    resolve: resolveRequest({
      resolve: table.resolve,
      settle: (asked) => translated(() => custom.settle(context, asked)),
      isApiGroup: (group) => builtInGroups.has(group),
      ...(isEnabled ? { route } : {}),
    }),
    fence: fence({
      fence: peers.identity.fence,
      isExempt: (request) => isLoopback(request) || isReview(request.info.group, request.info.resource),
    }),
  };
}

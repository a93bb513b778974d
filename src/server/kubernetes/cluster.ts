/**
 * The stage `cluster` of a server of a Kubernetes release: everything that depends on other servers. These are peers,
 * the agreement on encodings, aggregated API servers and the leader-elected controllers.
 */
import type { Allocators } from "../../cluster/allocation/allocators.ts";
import { createLeadership, type Leadership } from "../../cluster/controllers/leadership.ts";
import { observeControllers, type ObservedControllers } from "../../cluster/inspect/observed-controllers.ts";
import type { ControllerManager } from "../../cluster/controller-runtime/manager.ts";
import { peerAddressOf } from "../../cluster/peers/advertised-address.ts";
import type { EndpointReconciler } from "../../cluster/bootstrap/endpoint-reconciler.ts";
import type { Peers } from "../../cluster/peers/peers.ts";
import { createPeers } from "../../cluster/peers/create-peers.ts";
import { fenceHealthCheck } from "../../cluster/peers/fence.ts";
import { serverKv } from "../../cluster/peers/private-records.ts";
import type { StorageVersions } from "../../cluster/storageversion/create-storage-versions.ts";
import { createAggregatedServers, type AggregatedServers } from "../../extensions/aggregation/aggregated-servers.ts";
import { localGroupVersions } from "../../extensions/crd/serving/custom-sources.ts";
import { shownDocument, type LocalDocument } from "../../serving/discovery/local-document.ts";
import type { RegistryContext } from "../../serving/registry/context.ts";
import type { Kv } from "../../storage/kv.ts";
import type { Cluster } from "../assembly.ts";
import type { Foundation } from "../foundation.ts";
import type { ServerStore } from "../store.ts";
import { createClusterFilters } from "./cluster-filters.ts";
import { createContestedWrites, createControllers } from "./controllers.ts";
import { createKubernetesEndpoints } from "./kubernetes-endpoints.ts";
import { agreeOnEncodings, type Joined } from "./encodings.ts";
import { createRegistry } from "./registry.ts";
import type { KubernetesResources } from "./resources.ts";

export interface KubernetesCluster extends Cluster {
  readonly peers: Peers;
  readonly storageVersions: StorageVersions | undefined;
  readonly aggregated: AggregatedServers;
  /** The discovery document of this server, including custom and aggregated resources. */
  readonly shown: LocalDocument;
  readonly controllers: readonly ControllerManager[];
  readonly leadership: Leadership;
  /** The state of the controllers of the cluster as every server sees it in the store. */
  readonly observed: ObservedControllers;
  /** Undefined if this server is no endpoint of the kubernetes Service. */
  readonly endpoints: EndpointReconciler | undefined;
  /**
   * The store through which this server writes: after the identity lease has lapsed, all other commits fail until
   * the lease is renewed.
   */
  readonly kv: Kv;
  readonly context: RegistryContext;
  readonly allocators: Allocators;
}

export function joinCluster(on: Foundation, store: ServerStore, resources: KubernetesResources): KubernetesCluster {
  const { config, lifecycle } = on;
  const peers = createServerPeers(on, store, resources);
  const storageVersions = agreeOnEncodings(on, store, { resources, peers });
  const aggregated = addAggregatedServers(on, store, { resources, peers });
  const shown = shownDocument({
    catalogGroups: () => resources.custom.groups(),
    discoveryGroups: (local) => aggregated.discoveryGroups(local),
  });
  const { storageRoot } = config;
  const observed = observeControllers({
    cache: store.cache,
    clock: on.env.clock,
    storageRoot,
    standingBack: config.standingBack,
  });
  const { namespaces, mustStandBack } = observed;
  const contested = createContestedWrites(on);
  const controllers = createControllers(on, store, {
    resources,
    peers,
    shown,
    storageVersions,
    namespaces,
    mustStandBack,
    contested,
  });
  const leadership = createLeadership(controllers, lifecycle.ready);
  const endpoints = createKubernetesEndpoints(on, store, { resources, peers, contested });
  const { identity, membership } = peers;
  on.history.recovery.addStep(() => identity.fence.reason);
  const kv = serverKv(store, config, identity.fence);
  const { context, allocators } = createRegistry(on, { kv, cache: store.cache }, resources, peers);
  return {
    peers,
    storageVersions,
    aggregated,
    shown,
    controllers,
    leadership,
    observed,
    endpoints,
    kv,
    context,
    allocators,
    filters: createClusterFilters(on, { resources, peers, storageVersions, aggregated, context }),
    checks: () => [fenceHealthCheck(identity.fence)],
    view: peers.view,
    isServedByPeer: (info) => peers.view().peers.some(({ document }) => document?.served.has(info) === true),
    announce(address) {
      const forPeers = peerAddressOf(config.peers, address);
      if (forPeers !== undefined) membership.announce(forPeers);
    },
    async drain() {
      await Promise.all([endpoints?.leave(), membership.drain(), leadership.giveUp()]);
    },
    async leave() {
      await endpoints?.leave();
      await membership.leave();
    },
  };
}

function createServerPeers(on: Foundation, store: ServerStore, resources: KubernetesResources): Peers {
  const { env, config, metrics, lifecycle, loopback, transports } = on;
  const { catalog, document, shared, agreed } = resources;
  return createPeers({
    env,
    config,
    store,
    catalog,
    client: loopback.client,
    metrics,
    upstream: transports.upstream,
    served: { builtIn: document, shared },
    own: { ready: lifecycle.ready, isRegistered: () => agreed?.encodings.isOpen === true },
  });
}

function addAggregatedServers(on: Foundation, store: ServerStore, { resources, peers }: Joined): AggregatedServers {
  const { env, metrics, lifecycle, loopback, transports } = on;
  const { catalog, custom, services, shared } = resources;
  const { self } = peers.identity;
  const aggregated = createAggregatedServers({
    env,
    metrics,
    client: loopback.client,
    outbound: transports.outbound,
    services,
    local: localGroupVersions(catalog, custom),
    cluster: {
      isServedByPeer: (group, version) =>
        peers.view().peers.some(({ document }) => document?.served.hasGroupVersion(group, version) === true),
      mayWriteConditions: () => peers.records.liveness().servers.every(({ id }) => self.id < id),
    },
    isStoreLoaded: () => store.cache.state !== "loading",
    ready: lifecycle.ready,
  });
  if (aggregated.shared !== undefined) shared.add(aggregated.shared);
  return aggregated;
}

/** The stage `routes` of a server of a Kubernetes release: the handlers of all paths that it serves itself. */
import { openIdHandler } from "../../access/auth/service-accounts/openid-handler.ts";
import { accessPorts, openIdOf } from "../../access/review-endpoints.ts";
import { evenkeelEndpoints } from "../../cluster/inspect/evenkeel-endpoints.ts";
import { createFieldLoss } from "../../cluster/peers/field-loss.ts";
import { openApiPeers } from "../../cluster/peers/openapi-peers.ts";
import { createCustomOpenApi } from "../../extensions/crd/openapi/custom-open-api.ts";
import { protobufTables } from "../../objects/catalog/protobuf-tables.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";
import { releaseInfo } from "../../objects/catalog/release.ts";
import { freshBeforeNotFound } from "../../serving/discovery/fresh-not-found.ts";
import { discoveryHandler } from "../../serving/discovery/handlers.ts";
import { openApiHandler } from "../../serving/discovery/openapi/handlers.ts";
import { healthHandler } from "../../serving/endpoints/health.ts";
import { resourceHandler } from "../../serving/endpoints/resources.ts";
import { versionDocument } from "../../serving/endpoints/version.ts";
import type { Handler } from "../../serving/http/chain.ts";
import type { Stages } from "../assembly.ts";
import type { Foundation } from "../foundation.ts";
import type { Resolved } from "../handler-chain.ts";
import { createRouter, type Routes } from "../router.ts";
import { watchCounters } from "../../serving/resources/server-metrics.ts";
import type { ServerStore } from "../store.ts";
import type { KubernetesAccess } from "./assembly.ts";
import type { KubernetesCluster } from "./cluster.ts";
import type { KubernetesResources } from "./resources.ts";

type KubernetesStages = Stages<KubernetesResources, KubernetesCluster, KubernetesAccess>;

export function createRoutes(on: Foundation, store: ServerStore, stages: KubernetesStages): Handler<Resolved> {
  const { env, config, metrics, health, address } = on;
  const { resources, cluster } = stages;
  const { catalog, shared } = resources;
  const { peers, shown } = cluster;
  return createRouter({
    resources: resourceRoute(on, store, stages),
    discovery: discoveryRoute(on, store, stages),
    openApi: openApiRoute(on, stages),
    evenkeel: evenkeelEndpoints({
      storeHistory: () => on.history.recovery.status(),
      publishesStorageVersions: (id) => resources.agreed?.encodings.isPublisher(id),
      env,
      config,
      catalog,
      client: on.loopback.client,
      store: { whole: store.kv, fenced: cluster.kv },
      peers,
      local: shown,
      builtIn: resources.document,
      shared,
      controllers: cluster.observed.waits,
    }),
    health: healthHandler(health.checks.all, on.lifecycle.reportFailedChecks),
    openId: openIdHandler(openIdOf({ env, config }, () => address.current)),
    version: versionDocument({
      ...releaseInfo(config.version.binary),
      ...config.version,
      reportedVersion: config.reportedVersion,
      gates: gatesOf(config.version.binary),
    }),
    metrics,
    healthMetrics: health.metrics,
  });
}

function resourceRoute(on: Foundation, { cache }: ServerStore, stages: KubernetesStages): Routes["resources"] {
  const { env, config, metrics, open } = on;
  const { resources, cluster, access } = stages;
  const { view, forward } = cluster.peers;
  const { catalog } = resources;
  return resourceHandler<Resolved>(
    {
      context: cluster.context,
      open: open.watches,
      protobuf: protobufTables,
      ...watchCounters(metrics),
      fieldLoss: createFieldLoss({ view, forward, peers: config.peers, isVersionAware: config.isVersionAware }),
      ...accessPorts({ env, config, catalog, cache, access: access.access }),
    },
    resources.table.resolve,
  );
}

function discoveryRoute(
  on: Foundation,
  { cache }: ServerStore,
  { resources, cluster }: KubernetesStages,
): Routes["discovery"] {
  const { config, metrics, address } = on;
  const { serverId, isEnabled, credentials, discoveryMode, discoveryMergeScope } = config.peers;
  const { documents, identity, catchUp } = cluster.peers;
  const canMerge = isEnabled && credentials !== undefined;
  const discovery = discoveryHandler({
    self: {
      id: serverId,
      run: identity.self.incarnation,
      release: config.release,
      binaryVersion: identity.self.binaryVersion,
    },
    local: () => cluster.shown.groups,
    gates: gatesOf(config.release),
    servesAggregated: config.servesAggregatedDiscovery,
    forPeers: resources.document.groups,
    peers: canMerge ? documents.sources : () => "off",
    generation: documents.generation,
    mode: discoveryMode,
    mergeScope: discoveryMergeScope,
    hasUndescribed: () => isEnabled && documents.hasUndescribed(),
    serverAddress: () => address.current,
    metrics,
  });
  // If discovery contains no documents of peers, a 404 can be wrong only because this server has not read a new CRD
  // yet.
  const hasCaughtUpWithCrds = async (): Promise<boolean> => {
    await cache.catchUp();
    return true;
  };
  return freshBeforeNotFound(discovery, canMerge ? catchUp : hasCaughtUpWithCrds);
}

function openApiRoute({ env, config }: Foundation, { resources, cluster }: KubernetesStages): Routes["openApi"] {
  const { serverId, isEnabled, discoveryMode } = config.peers;
  return openApiHandler({
    catalog: resources.catalog,
    custom: createCustomOpenApi(resources.custom.table),
    extend: (base) => cluster.aggregated.openApi(base),
    clock: env.clock,
    log: env.log,
    nextTurn: env.nextTurn,
    serverId,
    binaryVersion: cluster.peers.identity.self.binaryVersion,
    mode: discoveryMode === "newest" ? "newest" : "merged",
    peers: isEnabled && discoveryMode !== "local" ? openApiPeers(cluster.peers) : undefined,
  });
}

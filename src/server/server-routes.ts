/** What answers the requests that no other server has to answer. */
import { openIdHandler } from "../access/auth/service-accounts/openid-handler.ts";
import type { WithUser } from "../access/auth/user.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Catalogue } from "../objects/catalogue/catalogue.ts";
import { protobufTables } from "../objects/catalogue/protobuf-tables.ts";
import { releaseInfo } from "../objects/catalogue/release.ts";
import type { Client } from "../client/client.ts";
import { createCustomOpenApi } from "../extensions/crd/openapi/custom-open-api.ts";
import { discoveryHandler } from "../serving/discovery/handlers.ts";
import { openApiHandler } from "../serving/discovery/openapi/handlers.ts";
import type { ResourceEndpoint } from "../serving/endpoints/endpoint.ts";
import { type HealthCheck, healthHandler } from "../serving/endpoints/health.ts";
import { resourceHandler } from "../serving/endpoints/resources.ts";
import { versionDocument } from "../serving/endpoints/version.ts";
import type { OpenWatches } from "../serving/endpoints/watch-stream.ts";
import type { Handler } from "../serving/http/chain.ts";
import { pageNotFound } from "../serving/http/respond.ts";
import type { RegistryContext } from "../serving/registry/context.ts";
import { translated } from "../serving/registry/storage-errors.ts";
import type { Kv } from "../storage/kv.ts";
import type { WatchCache } from "../storage/watch-cache/cache.ts";
import { accessPorts, openIdOf } from "./access-endpoints.ts";
import { clusterEndpoints } from "./cluster-endpoints.ts";
import { clusterResources } from "./cluster-resources.ts";
import type { Cluster } from "./cluster.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import { createFieldLoss } from "./field-loss.ts";
import { freshBeforeNotFound } from "./fresh-not-found.ts";
import type { Gatekeeping } from "./gatekeeping.ts";
import { inspectEndpoints } from "./inspect-endpoints.ts";
import type { LocalDocuments } from "./local-document.ts";
import { openApiPeers } from "./openapi-peers.ts";
import { purgeEndpoint } from "./purge-endpoint.ts";
import type { ResourceTable } from "./resources.ts";
import { createRouter } from "./routes.ts";
import { watchCounters } from "./server-metrics.ts";
import type { Shared } from "./shared-resources.ts";
import { gatesOf } from "../objects/catalogue/release-gates.ts";

export interface RouteParts extends LocalDocuments, Pick<Gatekeeping, "access" | "tokens" | "admission"> {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly metrics: MetricsRegistry;
  readonly healthMetrics: MetricsRegistry;
  readonly catalogue: Catalogue;
  readonly table: ResourceTable;
  readonly kv: Kv;
  /** Takes nothing while this server must not write. */
  readonly written: Kv;
  readonly client: Client;
  readonly cache: WatchCache;
  readonly context: RegistryContext;
  readonly openWatches: OpenWatches;
  readonly checks: () => HealthCheck[];
  readonly cluster: Cluster;
  readonly shared: Shared;
  readonly address: () => string;
}

export function createRoutes(parts: RouteParts): ReturnType<typeof createRouter> {
  const { env, config, context, metrics, healthMetrics, catalogue, table, openWatches, checks, cluster } = parts;
  const { local, shown, shared } = parts;
  const { clock, log } = env;
  const { peers, release } = config;
  const canMerge = peers.isEnabled && peers.credentials !== undefined;
  const { binaryVersion } = cluster.identity.self;
  const discovery = discoveryHandler({
    self: { id: peers.serverId, release, binaryVersion },
    gates: gatesOf(release),
    local: () => shown.groups,
    forPeers: local.groups,
    peers: canMerge ? cluster.sources : () => "off",
    generation: cluster.generation,
    mode: peers.discoveryMode,
    mergeScope: peers.discoveryMergeScope,
    hasUndescribed: () => peers.isEnabled && cluster.hasUndescribed(),
    serverAddress: parts.address,
    metrics,
  });
  const resources = resourceHandler<WithUser>(
    {
      ...{ context, open: openWatches, protobuf: protobufTables, ...watchCounters(metrics) },
      fieldLoss: createFieldLoss({ ...cluster, peers, isVersionAware: config.isVersionAware }),
      ...accessPorts(parts),
    },
    table.resolve,
  );
  return createRouter({
    resources: settledFirst(parts, resources),
    discovery: freshBeforeNotFound(discovery, canMerge ? cluster.catchUp : () => hasSeenAll(parts.cache)),
    openApi: openApiHandler({
      catalogue,
      custom: createCustomOpenApi(shared.custom.table),
      extend: (base) => shared.openApi(base),
      clock,
      log,
      serverId: peers.serverId,
      binaryVersion,
      mode: peers.discoveryMode === "newest" ? "newest" : "merged",
      peers: peers.isEnabled && peers.discoveryMode !== "local" ? openApiPeers(cluster) : undefined,
    }),
    cluster: clusterEndpoints({ env, config, catalogue, cluster, local: shown }),
    inspect: inspectEndpoints({ env, config, kv: parts.kv }),
    purge: purgeEndpoint({
      ...{ env, config, kv: parts.written, client: parts.client },
      // Also where the proxy is off: others may live, and then nobody knows here what they serve.
      resources: clusterResources({
        config: { ...config, peers: { ...config.peers, isEnabled: true } },
        cluster,
        local: shown,
        shared,
      }),
    }),
    health: healthHandler(checks, (failed) => log.warn("a health check failed", { failed })),
    openId: openIdHandler(openIdOf(parts, parts.address)),
    version: versionDocument({
      ...releaseInfo(config.version.binary),
      ...config.version,
      gates: gatesOf(config.version.binary),
    }),
    metrics,
    healthMetrics,
  });
}

/** Before it is said that there is no such thing, the newest definitions are asked for. */
function settledFirst({ table, catalogue, context, shared }: RouteParts, next: Handler<WithUser>): Handler<WithUser> {
  const builtIn = new Set(catalogue.groups.map(({ name }) => name));
  const inScope: Handler<WithUser> = (request) => {
    const { group, version, resource } = request.info;
    const isStrange = !builtIn.has(group) && isOutOfScope(table.resolve(group, version, resource), request);
    return isStrange ? Promise.resolve(pageNotFound()) : next(request);
  };
  return async (request) => {
    const { group, version, resource } = request.info;
    const isKnown = (): boolean => table.resolve(group, version, resource) !== undefined;
    if (isKnown()) return inScope(request);
    await translated(() => shared.custom.settle(context, request.info));
    // As kubernetes: of a group that is not built in nothing is known as an API but what definitions serve.
    return isKnown() || builtIn.has(group) ? inScope(request) : pageNotFound();
  };
}

function isOutOfScope(endpoint: ResourceEndpoint | undefined, { info }: WithUser): boolean {
  if (endpoint?.namespaced !== true) return endpoint !== undefined && info.namespace !== "";
  return info.namespace === "" && info.verb !== "list" && info.verb !== "watch";
}

/** Whatever was written before now; true also where that cannot be known, for then nobody here has made a promise. */
async function hasSeenAll(cache: WatchCache): Promise<boolean> {
  await cache.catchUp();
  return true;
}

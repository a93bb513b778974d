/** The second composition root: an API server of its user's own resources, made of the same parts as the main one. */
import { createAudit, type Audit } from "../../access/audit/create-audit.ts";
import { createAuditMetrics } from "../../access/audit/metrics.ts";
import { allowAuthenticated, type Authorizer } from "../../access/auth/authorize.ts";
import type { WithUser } from "../../access/auth/user.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import { openCatalogue, type Catalogue } from "../../objects/catalogue/catalogue.ts";
import { protobufTables } from "../../objects/catalogue/protobuf-tables.ts";
import { releaseInfo } from "../../objects/catalogue/release.ts";
import type { Client } from "../../client/client.ts";
import { createCustomOpenApi } from "../../extensions/crd/openapi/custom-open-api.ts";
import { discoveryHandler } from "../../serving/discovery/handlers.ts";
import { localGroups } from "../../serving/discovery/local.ts";
import { openApiHandler } from "../../serving/discovery/openapi/handlers.ts";
import { healthHandler, type HealthCheck } from "../../serving/endpoints/health.ts";
import { resourceHandler } from "../../serving/endpoints/resources.ts";
import { versionDocument } from "../../serving/endpoints/version.ts";
import type { OpenWatches } from "../../serving/endpoints/watch-stream.ts";
import type { Handler } from "../../serving/http/chain.ts";
import type { ApiRequest } from "../../serving/http/message.ts";
import { OpenRequests } from "../../serving/http/open-requests.ts";
import { jsonResponse, pageNotFound } from "../../serving/http/respond.ts";
import { fence } from "../../cluster/peers/fence.ts";
import type { RegistryContext } from "../../serving/registry/context.ts";
import { createAllocators } from "../../cluster/allocation/allocators.ts";
import type { Kv } from "../../storage/kv.ts";
import { createLeasePool } from "../../storage/lease-pool.ts";
import { createObjectStore } from "../../storage/object-store.ts";
import { WatchCache } from "../../storage/watch-cache/cache.ts";
import { writeGate } from "../../cluster/storageversion/write-gate.ts";
import { createTokens } from "../authentication.ts";
import { startBackground, waitUntil } from "../background.ts";
import type { ServerConfig } from "../config.ts";
import { coreTasks } from "../core-tasks.ts";
import type { Env } from "../env.ts";
import { createFairUse } from "../flow-control.ts";
import { buildHandler, type Filters } from "../handler-chain.ts";
import { storageChecks } from "../health-checks.ts";
import { Lifecycle, type StartupHook } from "../lifecycle.ts";
import { createLoopback } from "../loopback.ts";
import { fencedKv } from "../private-records.ts";
import { requestFilters, type RequestFilterParts } from "../request-filters.ts";
import type { ResourceTable } from "../resources.ts";
import { createRouter } from "../routes.ts";
import { registerServerMetrics, watchCounters } from "../server-metrics.ts";
import { createShutdown, type Shutdown } from "../shutdown.ts";
import { joinAgreement, type OwnAgreement } from "./agreement.ts";
import { ownGroups, ownResourceTable, ownStoredVersions, type OwnResource } from "./resource-table.ts";
import { gatesOf } from "../../objects/catalogue/release-gates.ts";

export interface ApiServerConfig {
  /** What it has in common with every server. */
  readonly server: ServerConfig;
  /** Whose servers these are, such as "wardle-apiserver". */
  readonly component: string;
  readonly resources: readonly OwnResource[];
  /** Of the main API server, to agree with others on storage versions; absent: this server is the only one of its kind. */
  readonly main: Client | undefined;
  readonly authorizer: Authorizer | undefined;
}

export interface BuiltApiServer extends Shutdown {
  /** The whole request line, without a socket. */
  readonly handle: Handler<ApiRequest>;
  /** Resolves when /readyz has passed for the first time. */
  readonly ready: Promise<void>;
  announce(address: string): void;
  endWatches(): void;
}

/** What the request line is made of. */
interface Parts {
  readonly env: Env;
  readonly audit: Audit;
  readonly config: ApiServerConfig;
  readonly metrics: MetricsRegistry;
  readonly healthMetrics: MetricsRegistry;
  readonly table: ResourceTable;
  readonly catalogue: Catalogue;
  readonly context: RegistryContext;
  readonly openWatches: OpenWatches;
  readonly checks: () => HealthCheck[];
  readonly agreement: OwnAgreement | undefined;
  readonly address: () => string;
}

export async function buildApiServer(env: Env, config: ApiServerConfig): Promise<BuiltApiServer> {
  const { server } = config;
  const { clock, log } = env;
  const kv = await env.openKv(server.storage);
  const cache = new WatchCache({
    ...{ kv, clock, root: server.storageRoot },
    onStateChange: (state) => log.info("the storage watch changed state", { state }),
  });
  const metrics = new MetricsRegistry();
  const audit = createAudit({ ...env, metrics: createAuditMetrics(metrics) });
  const healthMetrics = new MetricsRegistry();
  const agreement = join(env, config, { kv, cache, metrics });
  const hooks: StartupHook[] = [
    { name: "storage-readiness", run: (signal) => waitUntil(clock, () => cache.state === "following", signal) },
    ...(agreement?.hooks ?? []),
  ];
  const lifecycle = new Lifecycle(hooks, log);
  const checks = (): HealthCheck[] => [...storageChecks(cache), ...(agreement?.checks ?? []), ...lifecycle.checks()];
  const openWatches: OpenWatches = new Set();
  const openRequests = new OpenRequests();
  let address = "localhost";
  const parts: Parts = {
    ...{ env, config, audit, metrics, healthMetrics, openWatches, checks, agreement, address: () => address },
    ...createRegistry(env, config, { kv, cache, agreement }),
  };
  registerServerMetrics(metrics, { ...parts, cache, version: server.version });
  const { connection } = createLoopback(env, (request) => handle(request));
  const using = { env, config: server, metrics, lifecycle, openRequests, loopback: connection };
  const handle = buildHandler(createFilters(parts, using), createRoutes(parts));
  const core = coreTasks({ env, config: server, kv, cache, lifecycle, checks, healthMetrics }, hooks);
  const background = startBackground([...core, ...(agreement?.tasks ?? [])], log);
  return {
    handle,
    ready: lifecycle.ready,
    announce: (reachable) => {
      address = reachable;
    },
    endWatches: () => [...openWatches].forEach((watch) => watch.end()),
    ...createShutdown({
      ...{ env, config: server, lifecycle, openRequests, background, kv, audit },
      cluster: { drain: () => Promise.resolve(), leave: () => agreement?.leave() ?? Promise.resolve() },
      leadership: { giveUp: () => Promise.resolve() },
    }),
  };
}

function createRegistry(
  env: Env,
  { server, resources }: ApiServerConfig,
  using: { readonly kv: Kv; readonly cache: WatchCache; readonly agreement: OwnAgreement | undefined },
): Pick<Parts, "table" | "catalogue" | "context"> {
  const { kv, cache, agreement } = using;
  const { release, storageRoot } = server;
  const catalogue = nothingBuiltIn(openCatalogue({ release }));
  const written = agreement === undefined ? kv : fencedKv(kv, agreement.fence, "");
  return {
    catalogue,
    table: ownResourceTable({ resources, catalogue, storageRoot, encodingOf: agreement?.encodingOf }),
    context: createContext(env, server, { kv: written, cache }),
  };
}

/** Of the release only its schemas: of metadata, of options, of the scale of things. */
function nothingBuiltIn(release: Catalogue): Catalogue {
  return {
    release: release.release,
    emulation: undefined,
    groups: [],
    get schemas() {
      return release.schemas;
    },
    resource: () => undefined,
  };
}

function join(
  env: Env,
  { server, component, resources, main }: ApiServerConfig,
  using: { readonly kv: Kv; readonly cache: WatchCache; readonly metrics: MetricsRegistry },
): OwnAgreement | undefined {
  if (main === undefined) return undefined;
  const stored = ownStoredVersions(resources);
  return joinAgreement({ ...using, env, config: server, component, client: main, resources: stored });
}

function createContext(
  { clock, random }: Env,
  { storageRoot, serviceClusterIpRange: clusterIpRange, serviceNodePortRange: nodePortRange }: ServerConfig,
  { kv, cache }: { readonly kv: Kv; readonly cache: WatchCache },
): RegistryContext {
  const store = createObjectStore(kv, cache);
  return {
    ...{ store, clock, random },
    leases: createLeasePool(kv, clock),
    // Namespaces are the main API server's.
    namespacePrefix: undefined,
    allocators: createAllocators({
      ...{ store, random, storageRoot, clusterIpRange, nodePortRange },
      ipAddresses: undefined,
    }),
  };
}

function createFilters(
  { config, table, metrics, agreement, audit }: Parts,
  using: Omit<RequestFilterParts, "isKnown" | "isNotOurs" | "tokens" | "authorizer" | "audit" | "fairUse">,
): Filters {
  const isLoopback = ({ connection }: ApiRequest): boolean => connection === using.loopback;
  const { serverId } = config.server.peers;
  return {
    ...requestFilters({
      ...using,
      audit,
      fairUse: createFairUse({ ...using, metrics }),
      authorizer: config.authorizer ?? allowAuthenticated,
      tokens: createTokens(using.env, config.server, undefined),
      isKnown: ({ group, version, resource }) => table.resolve(group, version, resource) !== undefined,
      isNotOurs: () => false,
    }),
    writeGate:
      agreement === undefined ? (next) => next : writeGate({ state: agreement.gate, isLoopback, serverId, metrics }),
    aggregation: (next) => next,
    peerProxy: (next) => next,
    fence: agreement === undefined ? (next) => next : fence({ fence: agreement.fence, isExempt: isLoopback }),
  };
}

function createRoutes(parts: Parts): Handler<WithUser> {
  const { env, config, metrics, healthMetrics, table, catalogue, context, openWatches, checks } = parts;
  const { clock, log } = env;
  const { version, release, peers } = config.server;
  const groups = localGroups({ groups: ownGroups(config.resources) });
  const { gitVersion } = releaseInfo(version.binary);
  const definitions = config.resources.map(({ definition }) => definition);
  const router = createRouter({
    resources: resourceHandler<WithUser>(
      { context, open: openWatches, protobuf: protobufTables, ...watchCounters(metrics) },
      table.resolve,
    ),
    discovery: discoveryHandler({
      self: { id: peers.serverId, release, binaryVersion: gitVersion.replace(/^v/, "") },
      gates: gatesOf(release),
      ...{ local: () => groups, peers: () => "off", generation: () => 0, mode: "local", mergeScope: "all", metrics },
      hasUndescribed: () => false,
      serverAddress: parts.address,
    }),
    openApi: openApiHandler({
      ...{ catalogue, clock, log, serverId: peers.serverId, peers: undefined },
      custom: createCustomOpenApi({ generation: 0, definitions: () => definitions }),
    }),
    cluster: pageNotFound,
    inspect: () => undefined,
    purge: () => undefined,
    health: healthHandler(checks, (failed) => log.warn("a health check failed", { failed })),
    openId: () => undefined,
    version: versionDocument({ gitVersion, ...version, gates: gatesOf(version.binary) }),
    metrics,
    healthMetrics,
  });
  const paths = { paths: shownPaths(groups) };
  return (request) => {
    const { info } = request;
    // There is nothing at /api, and of other groups not even their path is known.
    if (info.apiPrefix === "api" || (info.isResourceRequest && !table.hasGroup(info.group)))
      return Promise.resolve(pageNotFound());
    if (info.segments.length === 0) return Promise.resolve(jsonResponse(200, paths));
    // Whoever speaks for users here is the main API server, and no peer.
    return router({ ...request, isVerifiedPeer: false });
  };
}

const PATHS: readonly string[] = [
  ...["/apis", "/healthz", "/livez", "/metrics", "/metrics/slis"],
  ...["/openapi/v2", "/openapi/v3", "/readyz", "/version"],
];

function shownPaths(groups: ReturnType<typeof localGroups>): string[] {
  const ofGroups = groups.flatMap(({ name, versions }) => [
    `/apis/${name}`,
    ...versions.map(({ version }) => `/apis/${name}/${version}`),
  ]);
  return [...PATHS, ...ofGroups].sort();
}

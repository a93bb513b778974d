/** The composition root: reads top to bottom as the architecture. It only connects; the parts decide. */
import { MetricsRegistry } from "../base/metrics.ts";
import { openCatalogue, type Catalogue } from "../objects/catalogue/catalogue.ts";
import { protobufTables } from "../objects/catalogue/protobuf-tables.ts";
import type { InProcessRequest, InProcessResponse } from "../client/in-process.ts";
import type { Transport } from "../client/transport.ts";
import type { Audit } from "../access/audit/create-audit.ts";
import { openAudit } from "../access/audit/open-audit.ts";
import { decodeProtobufObject, PROTOBUF_MEDIA_TYPE } from "../objects/protobuf/decode.ts";
import { parseYaml } from "../objects/yaml/yaml.ts";
import { accessOf } from "../access/auth/authorize.ts";
import type { OpenWatches } from "../serving/endpoints/watch-stream.ts";
import type { Handler } from "../serving/http/chain.ts";
import type { ApiRequest } from "../serving/http/message.ts";
import { OpenRequests } from "../serving/http/open-requests.ts";
import type { Upstream, UpstreamAddress } from "../serving/http/upstream.ts";
import { isReachableIp } from "../cluster/peers/endpoint-record.ts";
import type { ClusterView } from "../cluster/peers/view.ts";
import type { RegistryContext } from "../serving/registry/context.ts";
import type { Kv } from "../storage/kv.ts";
import { WatchCache } from "../storage/watch-cache/cache.ts";
import { bootstrapHooks, ensureIdentityNamespace } from "../cluster/bootstrap/hooks.ts";
import { fencedKv, identityLeaseKey } from "./private-records.ts";
import { catchUpOf } from "./access-endpoints.ts";
import { createGatekeeping, type Gatekeeping } from "./gatekeeping.ts";
import { startBackground, waitUntil, type BackgroundTask } from "./background.ts";
import type { ControllerManager } from "../cluster/controllers/runtime/manager.ts";
import { createControllers } from "./controllers.ts";
import { createCluster, type ClusterParts } from "./cluster.ts";
import { definitionController } from "./definition-controller.ts";
import { coreTasks } from "./core-tasks.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import { createFilters } from "./filters.ts";
import { buildHandler, type Filters } from "./handler-chain.ts";
import { storageChecks } from "./health-checks.ts";
import { asServer, createLoopback, type Loopback } from "./loopback.ts";
import { createLeadership, type Leadership } from "./leadership.ts";
import { afterwards, HOOK_PREFIX, Lifecycle, type StartupHook } from "./lifecycle.ts";
import { standOutsideAgreement } from "./outside-agreement.ts";
import { localDocuments } from "./local-document.ts";
import { createShared, endOutdatedWatches, namedEncodings, publishCustom, withCustom } from "./shared-resources.ts";
import { createShutdown, type Shutdown } from "./shutdown.ts";
import { createResourceTable } from "./resources.ts";
import { registerServerMetrics } from "./server-metrics.ts";
import {
  agreedEncodings,
  createStorageVersions,
  type AgreedEncodings,
  type StorageVersions,
} from "./storage-versions.ts";
import { serviceRepair, serviceRepairHook, type ServiceRepairOptions } from "./service-repair.ts";
import { storedProtobufDecoder } from "./stored-protobuf.ts";
import { createContext } from "./registry-context.ts";
import { createRoutes, type RouteParts } from "./server-routes.ts";
import { trustOf, trustPublisher } from "./published-trust.ts";

export interface Server extends Shutdown {
  readonly catalogue: Catalogue;
  /** The whole request line, without a socket. */
  readonly handle: Handler<ApiRequest>;
  /** Resolves when /readyz has passed for the first time. */
  readonly ready: Promise<void>;
  /** Calls the server as itself, with full access. */
  call(request: InProcessRequest): Promise<InProcessResponse>;
  /** For clients that act as the server itself, with full access. */
  readonly transport: Transport;
  /** What it believes about its cluster now. */
  view(): ClusterView;
  /** Where clients reach it (host:port), once that is known. */
  announce(address: string): void;
  /** Ends every watch cleanly, also the server's own. */
  endWatches(): void;
}

/** What the request line needs and the background keeps going. */
interface Parts extends RouteParts, Gatekeeping {
  readonly repair: ServiceRepairOptions;
  readonly lifecycle: Lifecycle;
  readonly openRequests: OpenRequests;
  readonly leadership: Leadership;
  /** Undefined: everybody writes what its release writes. */
  readonly storageVersions: StorageVersions | undefined;
  readonly controllers: readonly ControllerManager[];
  readonly audit: Audit;
}

export async function buildServer(env: Env, config: ServerConfig): Promise<Server> {
  const { release, runtimeConfig, featureGates, strictRelease, storageRoot, eventTtlSeconds } = config;
  const { emulation } = config.version;
  const catalogue = openCatalogue({ release, runtimeConfig, featureGates, extensions: !strictRelease, emulation });
  const agreed = config.usesStorageVersions ? agreedEncodings(env, config, catalogue) : undefined;
  const builtIn = createResourceTable({ catalogue, storageRoot, eventTtlSeconds, encodingOf: agreed?.encodingOf });
  const upstream = openPeers(env, config);
  const metrics = new MetricsRegistry();
  const audit = await openAuditOf(env, config, metrics);
  const kv = await env.openKv(config.storage);
  const cache = createCache(env, config, kv);
  const loopback = createLoopback(env, (request) => handle(request));
  const { client, metadata } = loopback;
  const healthMetrics = new MetricsRegistry();
  const ready = Promise.withResolvers<void>();
  const own = { env, config, cache, catalogue, client, metrics, ready: ready.promise };
  const shared = createShared({
    ...own,
    builtIn,
    encodingOf: agreed && namedEncodings(agreed),
    cluster: () => cluster,
  });
  const table = withCustom(builtIn, shared.custom);
  const documents = localDocuments(catalogue, shared);
  const joined = join({ ...own, ...documents, kv, shared, upstream, metadata }, agreed);
  const { cluster, storageVersions, controllers } = joined;
  if (storageVersions !== undefined) publishCustom(shared.custom.table, storageVersions);
  const written = fencedKv(kv, cluster.identity.fence, identityLeaseKey(storageRoot, config.peers.serverId));
  const context = createContext({ env, config, kv: written, cache, table, catalogue });
  const call = asServer(loopback.call);
  const gates = createGatekeeping({ ...own, builtIn, table, context, shared, call });
  const repair = repairOf(env, config, context);
  const announced = Promise.withResolvers<string>();
  const hooks = startupHooks({
    ...{ env, config, cache, catalogue, table, call, repair, cluster, storageVersions, shared, ...gates },
    announced: announced.promise,
  });
  const lifecycle = new Lifecycle(hooks, env.log);
  ready.resolve(lifecycle.ready);
  const checks = checksOf({ cache, cluster, lifecycle, controllers });
  const openWatches: OpenWatches = new Set();
  const openRequests = new OpenRequests();
  const leadership = createLeadership(controllers, lifecycle.ready);
  let address = "localhost";
  const parts: Parts = {
    ...{ env, config, metrics, healthMetrics, catalogue, table, kv, cache, context, repair, lifecycle, openWatches },
    ...{ checks, ...joined, ...documents, ...gates, shared, audit, client, written, openRequests, leadership },
    address: () => address,
  };
  endOutdatedWatches(shared.custom.table, openWatches);
  registerServerMetrics(metrics, { env, cache, table, openWatches, version: config.version });
  const handle = buildHandler(filtersOf(parts, loopback), createRoutes(parts));
  const background = startBackground([...backgroundTasks(parts, hooks), trustPublisher(parts, call)], env.log);
  return {
    catalogue,
    handle,
    ready: lifecycle.ready,
    call: loopback.call,
    transport: loopback.transport,
    view: cluster.view,
    announce: (reachable) => {
      address = reachable;
      announced.resolve(reachable);
      const forPeers = peerAddress(config, reachable);
      if (forPeers !== undefined) cluster.announce(forPeers);
    },
    endWatches: () => [...openWatches].forEach((watch) => watch.end()),
    ...createShutdown({ ...parts, background }),
  };
}

function repairOf({ clock, log }: Env, { storageRoot }: ServerConfig, context: RegistryContext): ServiceRepairOptions {
  return { context, servicePrefix: `${storageRoot}services/specs/`, clock, log };
}

function checksOf(of: Pick<Parts, "cache" | "cluster" | "lifecycle" | "controllers">): Parts["checks"] {
  return () => [
    ...storageChecks(of.cache),
    ...of.cluster.identity.checks,
    ...of.lifecycle.checks(),
    ...of.controllers.flatMap((manager) => manager.checks()),
  ];
}

/** What makes a server one of several. */
function join(
  using: Omit<ClusterParts, "beforeUnfence" | "isRegistered"> & Pick<Loopback, "metadata"> & Pick<Parts, "shown">,
  agreed: AgreedEncodings | undefined,
): Pick<Parts, "cluster" | "storageVersions" | "controllers"> {
  const { clock } = using.env;
  const cluster = createCluster({
    ...using,
    beforeUnfence: (signal) => storageVersions?.beforeUnfence(signal) ?? standOutsideAgreement({ ...using, clock }),
    isRegistered: () => storageVersions?.gate.isOpen === true,
  });
  const storageVersions = agreed && createStorageVersions({ ...using, cluster }, agreed);
  const local = using.shown;
  const controllers = createControllers({ ...using, local, cluster, members: storageVersions?.members });
  return { cluster, storageVersions, controllers };
}

function filtersOf(parts: Parts, { connection }: Loopback): Filters {
  const { authorize: authorizer } = parts.access.authorization;
  return createFilters({ ...parts, loopback: connection, authorizer, catchUp: catchUpOf(parts) });
}

function readStrangeBody(bytes: Buffer, mediaType: string): unknown {
  if (mediaType === PROTOBUF_MEDIA_TYPE) return decodeProtobufObject(bytes, protobufTables());
  return mediaType === "application/yaml" ? parseYaml(bytes.toString("utf8")).value : undefined;
}

function openAuditOf(env: Env, { audit: config }: ServerConfig, metrics: MetricsRegistry): Promise<Audit> {
  const openOutput = env.openAuditLog;
  return openAudit({ ...env, config, openOutput, metrics, attributesOf: accessOf, readBody: readStrangeBody });
}

/** Before the store is opened: files that cannot be used end the start here, and nothing is left open. */
function openPeers({ openUpstream }: Env, { peers }: ServerConfig): Upstream | undefined {
  const { credentials, egress } = peers;
  return credentials === undefined ? undefined : openUpstream({ credentials, egress });
}

/** As flags say it for peers, else for everybody, else where it listens; undefined when nobody could connect there. */
function peerAddress({ peers }: ServerConfig, listening: string): UpstreamAddress | undefined {
  if (peers.advertise !== undefined) return peers.advertise;
  const colon = listening.lastIndexOf(":");
  const host = peers.address ?? listening.slice(0, colon);
  return isReachableIp(host) ? { host, port: Number(listening.slice(colon + 1)) } : undefined;
}

function createCache({ clock, log }: Env, { storageRoot }: ServerConfig, kv: Kv): WatchCache {
  return new WatchCache({
    kv,
    clock,
    root: storageRoot,
    decodeForeign: storedProtobufDecoder(protobufTables),
    onStateChange: (state) => log.info("the storage watch changed state", { state }),
  });
}

interface HookParts extends Pick<
  Parts,
  "env" | "config" | "cache" | "catalogue" | "table" | "repair" | "cluster" | "storageVersions" | "shared" | "access"
> {
  readonly call: Server["call"];
  /** Where the server listens, once it does. */
  readonly announced: Promise<string>;
}

function startupHooks(parts: HookParts): StartupHook[] {
  const { env, config, cache, catalogue, table, call, repair, cluster, storageVersions, shared, access } = parts;
  const { announced } = parts;
  const trust = trustOf(config);
  const usesRoles = config.access.authorizationModes.includes("RBAC");
  const acceptsTokens = config.serviceAccounts.keys.length > 0;
  const { clock, log } = env;
  const { advertise, serviceClusterIpRange: range } = config;
  const published =
    advertise === undefined ? undefined : { clusterIp: range.nameAt(0), address: advertise.address, announced };
  const making = { call, clock, log, context: repair.context, resolve: table.resolve };
  return [
    {
      name: "storage-readiness",
      also: [`${HOOK_PREFIX}generic-apiserver-start-informers`, `${HOOK_PREFIX}start-apiserver-admission-initializer`],
      run: (signal) => waitUntil(clock, () => cache.state === "following", signal),
    },
    // What is defined is published with what is built in.
    {
      name: "crd-informer-synced",
      also: [`${HOOK_PREFIX}start-apiextensions-informers`, `${HOOK_PREFIX}start-apiextensions-controllers`],
      run: (signal) => waitUntil(clock, () => shared.custom.table.isLoaded, signal),
    },
    // Before it has an identity a server publishes nothing, and before it has published it writes nothing else.
    ...afterwards(ensureIdentityNamespace({ ...making, catalogue }), cluster.identity.hooks),
    ...(storageVersions === undefined ? [] : [storageVersions.hook]),
    serviceRepairHook(repair),
    { name: "rbac/roles-synced", run: (signal) => waitUntil(clock, () => access.isLoaded(), signal) },
    ...bootstrapHooks({ ...making, catalogue, serviceCidr: range.text, published, usesRoles, acceptsTokens, trust }),
    ...cluster.hooks,
    ...shared.hooks,
  ];
}

function backgroundTasks(parts: Parts, hooks: readonly StartupHook[]): BackgroundTask[] {
  return [
    ...coreTasks(parts, hooks),
    ...parts.shared.tasks,
    ...parts.gateTasks,
    definitionController(parts),
    ...parts.cluster.tasks,
    ...(parts.storageVersions?.tasks ?? []),
    ...parts.leadership.tasks,
    serviceRepair(parts.repair),
  ];
}

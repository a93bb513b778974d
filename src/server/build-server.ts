/** The composition root: reads top to bottom as the architecture. It only connects; the parts decide. */
import { allowAuthenticated, authorize } from "../auth/authorize.ts";
import { authenticate, type Authenticator } from "../auth/authenticate.ts";
import { impersonate } from "../auth/impersonate.ts";
import { tokenFileAuthenticator } from "../auth/authenticators/token-file.ts";
import { sleep } from "../base/clock.ts";
import { MetricsRegistry } from "../base/metrics.ts";
import { openCatalogue, type Catalogue } from "../catalogue/catalogue.ts";
import { callInProcess, type InProcessRequest, type InProcessResponse } from "../client/in-process.ts";
import { discoveryHandler } from "../discovery/handlers.ts";
import { healthHandler, measureHealth, type HealthCheck } from "../endpoints/health.ts";
import { resourceHandler } from "../endpoints/resources.ts";
import type { OpenWatches } from "../endpoints/watch-stream.ts";
import { versionDocument } from "../endpoints/version.ts";
import type { Handler } from "../http/chain.ts";
import { deadline } from "../http/filters/deadline.ts";
import { ifReady } from "../http/filters/if-ready.ts";
import { inFlight } from "../http/filters/in-flight.ts";
import { measure } from "../http/filters/measure.ts";
import { recover } from "../http/filters/recover.ts";
import { requestInfo } from "../http/filters/request-info.ts";
import type { ApiRequest, ConnectionInfo } from "../http/message.ts";
import type { RegistryContext } from "../registry/context.ts";
import { createLeasePool } from "../storage/lease-pool.ts";
import { createObjectStore } from "../storage/object-store.ts";
import { WatchCache } from "../storage/watch-cache/cache.ts";
import { startBackground, type BackgroundTask } from "./background.ts";
import { compactor } from "./compactor.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import { buildHandler } from "./handler-chain.ts";
import { Lifecycle, type StartupHook } from "./lifecycle.ts";
import { createResourceTable } from "./resources.ts";
import { createRouter } from "./routes.ts";
import { registerServerMetrics, watchCounters } from "./server-metrics.ts";
import { systemNamespacesHook } from "./system-namespaces.ts";

export interface Server {
  readonly catalogue: Catalogue;
  /** The whole request line, without a socket. */
  readonly handle: Handler<ApiRequest>;
  /** Resolves when /readyz has passed for the first time. */
  readonly ready: Promise<void>;
  /** Calls the server as itself, with full access. */
  call(request: InProcessRequest): Promise<InProcessResponse>;
  /** Where clients reach it, once that is known. */
  announce(address: string): void;
  /** /readyz fails from now on. Resolves after the configured delay. */
  beginShutdown(): Promise<void>;
  /** Ends every watch cleanly. */
  endWatches(): void;
  /** Stops the background, closes the store. */
  close(): Promise<void>;
}

const HEALTH_MEASURE_MS = 5_000;
const READINESS_POLL_MS = 10;

export async function buildServer(env: Env, config: ServerConfig): Promise<Server> {
  const { clock, random, log } = env;
  const metrics = new MetricsRegistry();
  const healthMetrics = new MetricsRegistry();
  const { release, runtimeConfig, featureGates, strictRelease } = config;
  const catalogue = openCatalogue({ release, runtimeConfig, featureGates, extensions: !strictRelease });
  const table = createResourceTable({ catalogue, storageRoot: config.storageRoot, eventTtlSeconds: config.eventTtlSeconds });

  const kv = await env.openKv(config.storage);
  const cache = new WatchCache({ kv, clock, root: config.storageRoot, onStateChange: (state) => log.info("the storage watch changed state", { state }) });
  const store = createObjectStore(kv, cache);
  const context: RegistryContext = { store, leases: createLeasePool(kv, clock), clock, random, namespacePrefix: `${config.storageRoot}namespaces/` };

  const openWatches: OpenWatches = new Set();
  const { encodings, deliveries } = watchCounters(metrics);
  registerServerMetrics(metrics, { env, cache, table, openWatches, release: catalogue.release });

  const loopback: ConnectionInfo = { protocol: "in-process", remoteAddress: "loopback", clientCertificate: undefined };
  const call = (request: InProcessRequest): Promise<InProcessResponse> => callInProcess(handle, { ...request, connection: loopback });
  const hooks: StartupHook[] = [
    { name: "storage-readiness", run: async (signal) => void (await waitUntil(() => cache.state === "following", signal)) },
    systemNamespacesHook({ call, clock, log }),
  ];
  const lifecycle = new Lifecycle(hooks);
  const checks = (): HealthCheck[] => [...basicChecks(cache), ...lifecycle.checks()];

  let address = "localhost";
  const route = createRouter({
    resources: resourceHandler({ context, open: openWatches, encodings, deliveries }, table.resolve),
    discovery: discoveryHandler({ catalogue, serverAddress: () => address }),
    health: healthHandler(checks, (failed) => log.warn("a health check failed", { failed })),
    version: versionDocument(catalogue.release),
    metrics,
    healthMetrics,
    isKnownGroup: (group) => table.groups.has(group),
  });
  const handle = buildHandler(
    {
      recover: recover(log),
      ifReady: ifReady({ isEnabled: config.sendRetryAfterIfNotInitialized, hasBeenReady: () => lifecycle.hasBeenReady }),
      requestInfo: requestInfo(),
      measure: measure({ metrics, clock, isKnown: ({ group, version, resource }) => table.resolve(group, version, resource) !== undefined }),
      deadline: deadline({ clock, requestTimeoutMs: config.requestTimeoutMs }),
      authenticate: authenticate([loopbackAuthenticator(loopback), tokenFileAuthenticator(config.users)]),
      impersonate: impersonate(),
      inFlight: inFlight({ metrics, readsMax: config.maxRequestsInflight, writesMax: config.maxMutatingRequestsInflight }),
      authorize: authorize(allowAuthenticated),
    },
    route,
  );

  async function waitUntil(condition: () => boolean, signal: AbortSignal): Promise<boolean> {
    while (!condition() && !signal.aborted) await sleep(clock, READINESS_POLL_MS, signal);
    return !signal.aborted;
  }

  const tasks: BackgroundTask[] = [
    { name: "watch-cache", run: (signal) => cache.run(signal) },
    { name: "start-up", run: (signal) => startUp(hooks, lifecycle, signal) },
    { name: "readiness", run: async (signal) => lifecycle.observeReadiness(await waitUntil(() => isReady(checks()), signal)) },
    { name: "health-metrics", run: (signal) => repeat(measureHealth(checks, healthMetrics), signal) },
    compactor({ kv, clock, log, intervalMs: config.compactionIntervalMs }),
  ];

  async function repeat(work: () => void, signal: AbortSignal): Promise<void> {
    do work();
    while (await sleep(clock, HEALTH_MEASURE_MS, signal));
  }

  const background = startBackground(tasks, log);
  return {
    catalogue,
    handle,
    ready: lifecycle.ready,
    call,
    announce: (reachable) => {
      address = reachable;
    },
    async beginShutdown() {
      lifecycle.beginShutdown();
      if (config.shutdownDelayMs > 0) await sleep(clock, config.shutdownDelayMs);
    },
    endWatches: () => [...openWatches].forEach((watch) => watch.end()),
    async close() {
      await background.stop();
      await kv.close();
    },
  };
}

async function startUp(hooks: readonly StartupHook[], lifecycle: Lifecycle, signal: AbortSignal): Promise<void> {
  for (const hook of hooks) {
    await hook.run(signal);
    if (!signal.aborted) lifecycle.hookDone(hook.name);
  }
}

function isReady(checks: readonly HealthCheck[]): boolean {
  return checks.every(({ endpoints, check }) => !endpoints.includes("readyz") || check() === undefined);
}

/** The store may be out of reach while this process is well: that makes it unready, not dead. */
function basicChecks(cache: WatchCache): HealthCheck[] {
  const storage = (): string | undefined => (cache.state === "following" ? undefined : `the storage is ${cache.state}`);
  return [
    { name: "ping", check: () => undefined, endpoints: ["healthz", "livez", "readyz"] },
    { name: "log", check: () => undefined, endpoints: ["healthz", "livez", "readyz"] },
    { name: "etcd", check: storage, endpoints: ["healthz", "readyz"] },
    { name: "etcd-readiness", check: storage, endpoints: ["readyz"] },
    { name: "informer-sync", check: () => (cache.state === "loading" ? "the cache is being filled" : undefined), endpoints: ["readyz"] },
  ];
}

/** The server's own calls are recognised by the connection object itself, which nothing outside can name. */
function loopbackAuthenticator(loopback: ConnectionInfo): Authenticator {
  const self = { name: "system:apiserver", uid: "", groups: ["system:masters"], extra: {} };
  return (request) => (request.connection === loopback ? self : "none");
}


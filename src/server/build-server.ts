/**
 * Builds a server stage by stage; each stage receives the results of the earlier ones. The stages only connect the
 * parts of a server, and the other folders of src/ decide how it behaves.
 */
import { startBackground } from "../base/background.ts";
import type { InProcessRequest, InProcessResponse } from "../client/in-process.ts";
import type { Transport } from "../client/transport.ts";
import type { ClusterView } from "../cluster/peers/view.ts";
import type { Catalog } from "../objects/catalog/catalog.ts";
import type { Handler } from "../serving/http/chain.ts";
import type { ApiRequest } from "../serving/http/message.ts";
import type { Assembly, Cluster, RequestAccess, Resources } from "./assembly.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import { createFilters } from "./filters.ts";
import { createFoundation, openAuditLogOf } from "./foundation.ts";
import { buildHandler } from "./handler-chain.ts";
import { KUBERNETES } from "./kubernetes/assembly.ts";
import { lifecycleTasks } from "./lifecycle.ts";
import { registerServerMetrics } from "../serving/resources/server-metrics.ts";
import { createShutdown, type Shutdown } from "./shutdown.ts";
import { openServerStore } from "./store.ts";

export interface Server extends Shutdown {
  readonly catalog: Catalog;
  /** The whole handler chain; a caller can send it requests without a socket. */
  readonly handle: Handler<ApiRequest>;
  /** Resolves when /readyz has passed for the first time. */
  readonly ready: Promise<void>;
  /** Sends a request with the identity of the server itself, which has full access. */
  call(request: InProcessRequest): Promise<InProcessResponse>;
  /** Transport for clients that act with the identity of the server itself, which has full access. */
  readonly transport: Transport;
  /** The server's current view of its cluster. */
  view(): ClusterView;
  /** Publishes the address (host:port) at which clients reach the server. Called when the address is known. */
  announce(address: string): void;
  /** Ends every watch cleanly, including the watches of the server's own informers. */
  endWatches(): void;
}

/** Builds a server of a Kubernetes release. */
export function buildServer(env: Env, config: ServerConfig): Promise<Server> {
  return assembleServer(env, config, KUBERNETES);
}

export async function assembleServer<R extends Resources, C extends Cluster, A extends RequestAccess>(
  env: Env,
  config: ServerConfig,
  assembly: Assembly<R, C, A>,
): Promise<Server> {
  const on = createFoundation(env, config);
  const audit = await openAuditLogOf(on);
  const store = await openServerStore(on, assembly.addDefaults?.(on));
  const resources = assembly.resources(on, store);
  const cluster = assembly.cluster(on, store, resources);
  const access = assembly.access(on, store, { resources, cluster });
  const stages = { resources, cluster, access };

  const routes = assembly.routes(on, store, stages);
  const handle = buildHandler(createFilters(on, { audit, ...stages }), routes);
  on.loopback.connect(handle);
  registerServerMetrics(on.metrics, {
    cache: store.cache,
    table: resources.table,
    openWatches: on.open.watches,
    version: config.version,
    processUsage: env.processUsage,
  });

  const running = assembly.running(on, store, stages);
  on.lifecycle.addHooks(running.hooks);
  for (const checks of [store.checks, cluster.checks, on.lifecycle.checks, running.checks])
    on.health.checks.add(checks);
  const tasks = [...store.tasks, ...lifecycleTasks(on), ...running.tasks];
  const background = startBackground(tasks, { env, metrics: on.metrics });
  on.health.checks.add(() => background.checks());
  return {
    catalog: resources.catalog,
    handle,
    ready: on.lifecycle.ready,
    call: on.loopback.call,
    transport: on.loopback.transport,
    view: cluster.view,
    announce(address) {
      on.address.announce(address);
      cluster.announce(address);
    },
    endWatches: () => [...on.open.watches].forEach((watch) => watch.end()),
    ...createShutdown({ on, cluster, background, audit, kv: store.kv }),
  };
}

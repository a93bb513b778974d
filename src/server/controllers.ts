/** The controllers of a cluster: on one of its servers at a time, through the same chain as everybody. */
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Client } from "../client/client.ts";
import { createControllerManager, type ControllerManager } from "../controllers/runtime/manager.ts";
import type { ControllerSpec } from "../controllers/runtime/controller.ts";
import { createCollector } from "../storageversion/collector.ts";
import type { Members } from "../storageversion/members.ts";
import type { ControllerName } from "./controller-names.ts";
import type { Cluster } from "./cluster.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";

/** In the namespace kube-system. */
const LEADER_LEASE = "evenkeel-controllers";

export interface ControllerParts {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly metrics: MetricsRegistry;
  readonly client: Client;
  readonly cluster: Cluster;
  /** Undefined: servers agree on nothing, and there is nothing to keep true. */
  readonly members: Members | undefined;
}

/** Undefined when there is nothing to run. */
export function createControllers(parts: ControllerParts): ControllerManager | undefined {
  const { env, config, metrics, client, cluster } = parts;
  const { clock, random, log } = env;
  const controllers = specs(parts).filter(({ name }) => config.controllers.has(name));
  if (controllers.length === 0) return undefined;
  const { id, incarnation } = cluster.identity.self;
  return createControllerManager({
    ...{ controllers, client, clock, random, log, metrics },
    enabled: config.controllers,
    identity: `${id}_${incarnation}`,
    leaseName: LEADER_LEASE,
  });
}

type NamedSpec = ControllerSpec & { readonly name: ControllerName };

function specs({ env, metrics, client, members }: ControllerParts): NamedSpec[] {
  const { clock, log } = env;
  if (members === undefined) return [];
  return [createCollector({ client, members, clock, log, metrics })];
}

/**
 * The stages in which the two kinds of servers of this project differ: a server of a Kubernetes release, and a server
 * of a program's own resources (`createApiServer`). `build-server.ts` runs the stages in the order of this file, and
 * passes each stage the results of the earlier ones.
 */
import type { Authorizer, CatchUp } from "../access/auth/authorize.ts";

import type { Tokens } from "../access/auth/create-tokens.ts";
import type { PriorityAndFairness } from "../access/flowcontrol/priority-and-fairness.ts";
import type { BackgroundTask } from "../base/background.ts";
import type { StartupHook } from "../base/startup-hook.ts";
import type { ClusterView } from "../cluster/peers/view.ts";
import type { Catalog } from "../objects/catalog/catalog.ts";
import type { HealthCheck } from "../serving/endpoints/health.ts";
import type { Handler } from "../serving/http/chain.ts";
import type { RequestInfo } from "../serving/http/request-info.ts";
import type { ResourceTable } from "../serving/resources/built-in-table.ts";
import type { AddDefaults } from "../storage/watch-cache/entry.ts";
import type { Foundation } from "./foundation.ts";
import type { Filters, Resolved } from "./handler-chain.ts";
import type { ServerStore } from "./store.ts";

/** The resources that the server serves. */
export interface Resources {
  readonly catalog: Catalog;
  readonly table: ResourceTable;
}

/** The part of the server that depends on other servers of the cluster. */
export interface Cluster {
  readonly filters: Pick<Filters, "aggregation" | "writeGate" | "resolve" | "fence">;
  readonly checks: () => readonly HealthCheck[];
  readonly view: () => ClusterView;
  /** Whether a peer serves the resource. */
  isServedByPeer(info: RequestInfo): boolean;
  /** Publishes the address at which peers reach this server. Called when the server listens. */
  announce(address: string): void;
  /**
   * Makes peers prefer other servers, and releases the leader leases of this server, so that another server runs the
   * controllers.
   */
  drain(): Promise<void>;
  leave(): Promise<void>;
}

/** Authentication, authorization and flow control of requests. */
export interface RequestAccess {
  readonly tokens: Tokens;
  readonly authorizer: Authorizer;
  readonly flowControl: PriorityAndFairness;
  /**
   * Catches up with the store before an authenticated user is denied. Absent if the decision does not depend on the
   * store.
   */
  readonly catchUp?: CatchUp;
}

export interface Stages<R extends Resources, C extends Cluster, A extends RequestAccess> {
  readonly resources: R;
  readonly cluster: C;
  readonly access: A;
}

/** Work that does not serve requests: hooks run once and in order before /readyz passes, tasks run until shutdown. */
export interface HooksAndTasks {
  readonly hooks: readonly StartupHook[];
  readonly tasks: readonly BackgroundTask[];
  readonly checks: () => readonly HealthCheck[];
}

export interface Assembly<R extends Resources, C extends Cluster, A extends RequestAccess> {
  /** Completes stored objects with the defaults of the server's release. Absent if the server has no built-in kinds. */
  readonly addDefaults?: (on: Foundation) => AddDefaults;
  resources(on: Foundation, store: ServerStore): R;
  cluster(on: Foundation, store: ServerStore, resources: R): C;
  access(on: Foundation, store: ServerStore, before: Pick<Stages<R, C, A>, "resources" | "cluster">): A;
  routes(on: Foundation, store: ServerStore, stages: Stages<R, C, A>): Handler<Resolved>;
  running(on: Foundation, store: ServerStore, stages: Stages<R, C, A>): HooksAndTasks;
}

/**
 * Connects aggregated API servers to this server: the filter that proxies to them, their discovery and OpenAPI
 * documents, and their controllers. Each task starts when the data that it needs has loaded. A server that cannot call
 * outside the cluster has none of these parts.
 */
import type { WithUser } from "../../access/auth/user.ts";
import type { Services } from "../../access/webhook-client/create-services.ts";
import { waitUntil, whenOrAborted, type BackgroundTask } from "../../base/background.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import { HOOK_PREFIX, type StartupHook } from "../../base/startup-hook.ts";
import type { Client } from "../../client/client.ts";
import { exclusionName } from "../../cluster/peers/exclusions.ts";
import type { SharedSource } from "../../cluster/peers/shared-resources.ts";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { OpenApiDocuments } from "../../serving/discovery/openapi/documents.ts";
import type { PassingFilter } from "../../serving/http/chain.ts";
import type { Outbound } from "../../serving/http/outbound.ts";
import { createAggregation, type Aggregation, type AggregationOptions } from "./create-aggregation.ts";
import type { LocalGroupVersion } from "./registration.ts";

interface AggregatedServersParts {
  readonly env: BaseEnv & Pick<AggregationOptions, "nextTurn">;
  readonly metrics: MetricsRegistry;
  readonly client: Client;
  /** Undefined if this server cannot call outside the cluster. */
  readonly outbound: Outbound | undefined;
  readonly services: Services;
  readonly local: LocalGroupVersions;
  readonly cluster: {
    /** Whether a peer serves the group version. */
    isServedByPeer(group: string, version: string): boolean;
    /**
     * Whether this server writes the conditions of APIServices. Only one live server does, so that servers do not
     * overwrite each other's conditions.
     */
    mayWriteConditions(): boolean;
  };
  /** Whether the store has been loaded once; before that every read returns 503. */
  readonly isStoreLoaded: () => boolean;
  /** Resolves when this server is ready. */
  readonly ready: Promise<void>;
}

/** The group versions that this server serves itself, built in or by custom resource definitions. */
export interface LocalGroupVersions {
  list(): readonly LocalGroupVersion[];
  isLoaded(): boolean;
  onChange(listener: () => void): void;
}

export interface AggregatedServers {
  readonly filter: PassingFilter<WithUser>;
  /** Undefined if this server cannot call outside the cluster. */
  readonly shared: SharedSource | undefined;
  readonly tasks: readonly BackgroundTask[];
  readonly hooks: readonly StartupHook[];
  /**
   * Returns the local groups merged with those of aggregated servers. It returns the same array until a group changes.
   */
  discoveryGroups(local: readonly DiscoveryGroup[]): readonly DiscoveryGroup[];
  openApi(base: OpenApiDocuments): OpenApiDocuments;
}

const NO_AGGREGATED_SERVERS: AggregatedServers = {
  filter: (next) => next,
  shared: undefined,
  tasks: [],
  hooks: [],
  discoveryGroups: (local) => local,
  openApi: (base) => base,
};

export function createAggregatedServers(parts: AggregatedServersParts): AggregatedServers {
  const { env, metrics, client, outbound, services, local, cluster } = parts;
  if (outbound === undefined) return NO_AGGREGATED_SERVERS;
  const { clock, random, log } = env;
  const aggregation = createAggregation({
    client,
    outbound,
    services,
    clock,
    nextTurn: env.nextTurn,
    random,
    log,
    metrics,
    localGroupVersions: () => local.list(),
    isServedElsewhere: (group, version) => cluster.isServedByPeer(group, version),
    mayWriteConditions: () => cluster.mayWriteConditions(),
  });
  local.onChange(() => aggregation.localChanged());
  return {
    filter: aggregation.filter,
    shared: sharedSource(aggregation),
    tasks: [
      ...[...services.tasks, ...aggregation.tasks].map((task) => onceStoreLoaded(parts, task)),
      onceReady(parts, aggregation.registration),
    ],
    hooks: [informersSynced(env, aggregation)],
    discoveryGroups: (groups) => aggregation.discoveryGroups(groups),
    openApi: (base) => aggregation.openApi(base),
  };
}

/**
 * Aggregated group versions are ignored as a whole in the discovery documents of peers. The filter serves them, so they
 * have no endpoints.
 */
function sharedSource(aggregation: Aggregation): SharedSource {
  return {
    isLoaded: () => true,
    names: () =>
      aggregation.remoteGroupVersions().map(({ group, version }) => exclusionName({ group, version, resource: "" })),
    onChange(listener) {
      aggregation.onChange(listener);
      return () => {};
    },
  };
}

function onceStoreLoaded({ env, isStoreLoaded }: AggregatedServersParts, task: BackgroundTask): BackgroundTask {
  return {
    name: task.name,
    async run(signal) {
      await waitUntil(env.clock, isStoreLoaded, signal);
      if (!signal.aborted) await task.run(signal);
    },
  };
}

/** Delays the task until this server is ready, because registering local group versions needs writes and all CRDs. */
function onceReady({ ready, local }: AggregatedServersParts, task: BackgroundTask): BackgroundTask {
  return {
    name: task.name,
    async run(signal) {
      await whenOrAborted(ready, signal);
      if (!signal.aborted && local.isLoaded()) await task.run(signal);
    },
  };
}

/**
 * Waits until the APIServices have loaded. Before that, the server does not know which groups aggregated servers serve.
 */
function informersSynced({ clock }: BaseEnv, aggregation: Aggregation): StartupHook {
  return {
    name: "start-kube-aggregator-informers",
    also: [
      `${HOOK_PREFIX}apiservice-registration-controller`,
      `${HOOK_PREFIX}apiservice-status-local-available-controller`,
      `${HOOK_PREFIX}apiservice-status-remote-available-controller`,
      `${HOOK_PREFIX}kube-apiserver-autoregistration`,
      "autoregister-completion",
      `${HOOK_PREFIX}apiservice-openapi-controller`,
    ],
    run: (signal) => waitUntil(clock, () => aggregation.hasSynced, signal),
  };
}

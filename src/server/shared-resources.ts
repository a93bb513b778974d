/** What lives in the store that all servers share: custom resources, aggregated API servers, and the way to both. */
import { createAggregation, type Aggregation } from "../extensions/aggregation/create-aggregation.ts";
import type { LocalGroupVersion } from "../extensions/aggregation/registration.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Catalogue } from "../objects/catalogue/catalogue.ts";
import type { Client } from "../client/client.ts";
import { webhookConversion, type CallWebhook } from "../extensions/crd/conversion/webhook-conversion.ts";
import { CUSTOM_PRIORITY } from "../extensions/crd/custom-groups.ts";
import type { PassingFilter } from "../serving/http/chain.ts";
import type { Outbound } from "../serving/http/outbound.ts";
import type { WithUser } from "../access/auth/user.ts";
import type { DiscoveryGroup } from "../serving/discovery/groups.ts";
import type { OpenApiDocuments } from "../serving/discovery/openapi/documents.ts";
import { exclusionName } from "../cluster/peers/exclusions.ts";
import { jsonEquals } from "../meta/json.ts";
import type { DefinitionTable } from "../extensions/crd/definition-table.ts";
import { definitionKey } from "../extensions/crd/definition.ts";
import type { OpenWatches } from "../serving/endpoints/watch-stream.ts";
import type { Encoding } from "../serving/registry/resource.ts";
import type { WatchCache } from "../storage/watch-cache/cache.ts";
import { waitUntil, whenOrAborted, type BackgroundTask } from "./background.ts";
import type { Cluster, SharedResources } from "./cluster.ts";
import type { ServerConfig } from "./config.ts";
import { createCustomResources, storedVersionsOf, type CustomResources } from "./custom-resources.ts";
import type { Env } from "./env.ts";
import { HOOK_PREFIX, type StartupHook } from "./lifecycle.ts";
import type { ResourceTable } from "./resources.ts";
import type { AgreedEncodings, StorageVersions } from "./storage-versions.ts";
import { createWebhookClient } from "./webhook-client.ts";

export interface SharedParts {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly cache: WatchCache;
  readonly catalogue: Catalogue;
  readonly builtIn: ResourceTable;
  readonly client: Client;
  readonly metrics: MetricsRegistry;
  readonly encodingOf: ((name: string) => Encoding) | undefined;
  /** Resolves when this server may be sent requests. */
  readonly ready: Promise<void>;
  /** Asked for when all of the server is there. */
  readonly cluster: () => Cluster;
}

export interface Shared extends SharedResources {
  readonly custom: CustomResources;
  readonly callWebhook: CallWebhook;
  /** Answers what is an aggregated server's; undefined where none can be reached. */
  readonly filter: PassingFilter<WithUser>;
  readonly tasks: readonly BackgroundTask[];
  readonly hooks: readonly StartupHook[];
  /** With what aggregated servers serve; the same array while nothing changes. */
  discoveryGroups(local: readonly DiscoveryGroup[]): readonly DiscoveryGroup[];
  openApi(base: OpenApiDocuments): OpenApiDocuments;
}

export function createShared(parts: SharedParts): Shared {
  const { env, config, client } = parts;
  const outbound = env.openOutbound?.({ clientCertificate: config.peers.clientCertificate });
  const { serviceOverrides: overrides } = config;
  const { clock, random, log } = env;
  const callWebhook = createWebhookClient({ clock, outbound, resolve: (...asked) => aggregation.resolve(...asked) });
  const convert = webhookConversion({ ...env, callWebhook });
  const custom = createCustomResources({ ...parts, clock, convert });
  if (outbound === undefined) return { ...withoutAggregation(custom, []), callWebhook };
  const aggregation = createAggregation({
    ...{ client, outbound, overrides, clock, random, log, metrics: parts.metrics },
    localGroupVersions: () => localGroupVersions(parts.catalogue, custom),
    isServedElsewhere: (group, version) =>
      parts
        .cluster()
        .view()
        .peers.some(({ document }) => document?.served.hasGroupVersion(group, version) === true),
    mayWriteConditions: () => isLowest(parts.cluster()),
  });
  custom.table.onSettled(() => aggregation.localChanged());
  return {
    ...withoutAggregation(custom, [
      closing(outbound),
      ...aggregation.tasks.map((task) => onceLoaded(parts, task)),
      registration(parts, custom, aggregation),
    ]),
    callWebhook,
    filter: aggregation.filter,
    names: () => [...custom.names(), ...aggregation.remoteGroupVersions().map(nameOf)],
    onChange(listener) {
      const end = custom.table.onSettled(listener);
      aggregation.onChange(listener);
      return end;
    },
    hooks: [completion(parts, aggregation)],
    discoveryGroups: (local) => aggregation.discoveryGroups(local),
    openApi: (base) => aggregation.openApi(base),
  };
}

function withoutAggregation(custom: CustomResources, tasks: readonly BackgroundTask[]): Omit<Shared, "callWebhook"> {
  return {
    custom,
    served: custom.served,
    names: () => custom.names(),
    isLoaded: () => custom.table.isLoaded,
    onChange: (listener) => custom.table.onSettled(listener),
    filter: (next) => next,
    tasks: [custom.task, ...tasks],
    hooks: [],
    discoveryGroups: (local) => local,
    openApi: (base) => base,
  };
}

/** Before there is anything to read, whoever reads is told to come again a second later. */
function onceLoaded({ env, cache }: SharedParts, task: BackgroundTask): BackgroundTask {
  return {
    name: task.name,
    async run(signal) {
      await waitUntil(env.clock, () => cache.state !== "loading", signal);
      if (!signal.aborted) await task.run(signal);
    },
  };
}

function closing(outbound: Outbound): BackgroundTask {
  return {
    name: "outbound-connections",
    async run(signal) {
      await whenOrAborted(new Promise(() => {}), signal);
      await outbound.close();
    },
  };
}

function nameOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return exclusionName({ group, version, resource: "" });
}

function localGroupVersions(catalogue: Catalogue, custom: CustomResources): LocalGroupVersion[] {
  return custom.groups().flatMap(({ name: group, versions, apiServicePriorities }) => {
    const builtIn = catalogue.groups.find((candidate) => candidate.name === group);
    return versions.flatMap((version) => {
      const isCustom = builtIn?.versions.includes(version) !== true;
      const priority = isCustom ? CUSTOM_PRIORITY : apiServicePriorities.get(version);
      return priority === undefined ? [] : [{ group, version, ...priority, isCustom }];
    });
  });
}

/** One of the live servers writes conditions, so that they do not write against each other. */
function isLowest({ identity }: Cluster): boolean {
  return identity.leases.known().every(({ id }) => identity.self.id < id);
}

function registration({ ready }: SharedParts, custom: CustomResources, aggregation: Aggregation): BackgroundTask {
  const task = aggregation.registration;
  return {
    name: task.name,
    async run(signal) {
      await whenOrAborted(ready, signal);
      if (!signal.aborted && custom.table.isLoaded) await task.run(signal);
    },
  };
}

/** Before its APIServices are known nobody can say which group is an aggregated server's. */
function completion({ env }: SharedParts, aggregation: Aggregation): StartupHook {
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
    run: (signal) => waitUntil(env.clock, () => aggregation.hasSynced, signal),
  };
}

export function namedEncodings({ encodings }: AgreedEncodings): (name: string) => Encoding {
  return (name) => ({ current: (lost) => encodings.current(name, lost) });
}

export function withCustom(builtIn: ResourceTable, custom: CustomResources): ResourceTable {
  return {
    resolve: (group, version, resource) =>
      builtIn.resolve(group, version, resource) ?? custom.resolve(group, version, resource),
    hasGroup: (group) => builtIn.hasGroup(group) || custom.hasGroup(group),
    stored: builtIn.stored,
  };
}

/** Before a custom resource is written in a version, others know that it will be. */
export function publishCustom(table: DefinitionTable, storageVersions: StorageVersions): void {
  table.onChange(({ before, after }) => {
    const was = before && storedVersionsOf(before);
    const is = after && storedVersionsOf(after);
    if (is === undefined ? was !== undefined : was !== undefined && was.name !== is.name)
      storageVersions.remove(was!.name);
    if (is !== undefined && !jsonEquals(was, is)) storageVersions.put(is);
  });
}

/** A watch shows objects as one definition has them; whoever resumes it is shown them as the next one does. */
export function endOutdatedWatches(table: DefinitionTable, open: OpenWatches): void {
  table.onChange(({ before, after }) => {
    if (before === undefined || definitionKey(before) === (after && definitionKey(after))) return;
    for (const watch of [...open]) if (watch.definitionKey === definitionKey(before)) watch.leave();
  });
}

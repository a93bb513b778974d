/**
 * Creates the aggregation layer of a server: it registers APIServices, checks their availability, proxies requests to
 * aggregated servers and merges their discovery. All parts share one informer on APIServices.
 */
import type { WithUser } from "../../access/auth/user.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { Random } from "../../base/random.ts";
import { messageOf } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { OpenApiDocuments } from "../../serving/discovery/openapi/documents.ts";
import type { PassingFilter } from "../../serving/http/chain.ts";
import type { Outbound } from "../../serving/http/outbound.ts";
import { jsonEquals } from "../../meta/json.ts";
import { withAggregatedOpenApi } from "./aggregated-openapi.ts";
import {
  API_SERVICES,
  availableCondition,
  BY_SERVICE,
  remoteApiService,
  serviceKeys,
  type ApiServiceObject,
  type RemoteApiService,
} from "./api-service.ts";
import { createCallServer, createCallService } from "./call-server.ts";
import { createAvailability, type Availability } from "./availability-controller.ts";
import type { FindApiService, KnownApiService } from "./decide.ts";
import { mergeRemoteGroups } from "./merge-discovery.ts";
import { aggregationProxy } from "./proxy.ts";
import { createRegistration, type Registration } from "./registration-controller.ts";
import { apiServiceName, type LocalGroupVersion } from "./registration.ts";
import { createRemoteDiscovery, type RemoteDiscovery } from "./remote-discovery.ts";
import type { Services } from "../../access/webhook-client/create-services.ts";

export interface AggregationOptions {
  /** The loopback client. */
  readonly client: Client;
  readonly outbound: Outbound;
  readonly services: Pick<Services, "directory" | "resolve" | "overrides">;
  /** The group versions that this server serves itself, built in or by CRDs, without apiregistration.k8s.io. */
  readonly localGroupVersions: () => readonly LocalGroupVersion[];
  /** Whether a peer serves the group version. */
  readonly isServedElsewhere: (group: string, version: string) => boolean;
  /** Whether this server writes the conditions of APIServices. */
  readonly mayWriteConditions: () => boolean;
  readonly clock: Clock;
  /** Runs the callback in the next turn of the event loop. */
  readonly nextTurn?: ((callback: () => void) => void) | undefined;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
}

export interface Aggregation {
  /** Proxies the requests for aggregated group versions. Runs after authorization and before peer routing. */
  readonly filter: PassingFilter<WithUser>;
  /** Whether all APIServices have loaded. Before that, the server must not return 404 for a group. */
  readonly hasSynced: boolean;
  /** Group versions that aggregated servers serve. */
  remoteGroupVersions(): readonly RemoteApiService[];
  /** Returns the local groups merged with the aggregated ones. It returns the same array until a group changes. */
  discoveryGroups(local: readonly DiscoveryGroup[]): readonly DiscoveryGroup[];
  openApi(base: OpenApiDocuments): OpenApiDocuments;
  /** Calls the handler when the aggregated servers, or the resources that they serve, change. */
  onChange(handler: () => void): void;
  /** Must be called when the result of `localGroupVersions` changes. */
  localChanged(): void;
  /** APIServices of built-in group versions that have not become available yet. */
  missing(): readonly string[];
  /** Tasks that start with the server: the informer, availability checks and discovery. */
  readonly tasks: readonly AggregationTask[];
  /**
   * Registers the APIServices of local group versions. Must be started after CRDs have loaded and the server accepts
   * writes.
   */
  readonly registration: AggregationTask;
}

interface AggregationTask {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

export function createAggregation(options: AggregationOptions): Aggregation {
  const { client, outbound, services } = options;
  const onError = (thrown: unknown): void =>
    options.log.debug("watch of APIServices failed", { error: messageOf(thrown) });
  const apiServices = client.informer<ApiServiceObject>(API_SERVICES, {
    onError,
    indexes: { [BY_SERVICE]: serviceKeys },
  });
  const { directory, resolve, overrides } = services;
  const ask = createCallServer(options);
  const askService = createCallService(ask, resolve);
  const availability = createAvailability({
    ...options,
    apiServices,
    directory,
    resolve,
    overrides,
    ask,
    mayWrite: options.mayWriteConditions,
  });
  const known = createKnown(apiServices, availability);
  const handlers: (() => void)[] = [];
  const groups = createMergedGroups(options, () => discovery.groupVersions());
  const onChange = (): void => {
    groups.forget();
    for (const tell of handlers) tell();
  };
  const discovery = createRemoteDiscovery({ ...options, apiServices: known.list, ask: askService, onChange });
  watchRemote(apiServices, availability, discovery);
  const registration = createRegistration({ ...options, apiServices });
  return {
    filter: aggregationProxy({
      ...options,
      find: known.find,
      resolve,
      outbound,
      onUnreachable: (name) => availability.recheck(name),
    }),
    get hasSynced() {
      return apiServices.hasSynced;
    },
    remoteGroupVersions: () => known.list().map(({ apiService }) => apiService),
    discoveryGroups: (local) => groups.discoveryGroups(local),
    openApi: (base) =>
      withAggregatedOpenApi(base, { ...options, apiServices: known.list, find: known.find, ask: askService }),
    onChange: (handler) => void handlers.push(handler),
    localChanged() {
      groups.forget();
      registration.localChanged();
    },
    missing: () => registration.missing(),
    ...tasksOf({ apiServices, availability, discovery, registration }),
  };
}

function tasksOf(parts: {
  readonly apiServices: Informer<ApiServiceObject>;
  readonly availability: Availability;
  readonly discovery: RemoteDiscovery;
  readonly registration: Registration;
}): Pick<Aggregation, "tasks" | "registration"> {
  const { apiServices, availability, discovery, registration } = parts;
  return {
    tasks: [
      { name: "apiservice-informer", run: (signal) => apiServices.run(signal) },
      { name: "apiservice-status-remote-available-controller", run: (signal) => availability.run(signal) },
      { name: "apiservice-discovery-controller", run: (signal) => discovery.run(signal) },
    ],
    registration: { name: "kube-apiserver-autoregistration", run: (signal) => registration.run(signal) },
  };
}

/** Looks up parsed APIServices. Each object is parsed only once. */
function createKnown(
  apiServices: Informer<ApiServiceObject>,
  availability: Availability,
): { readonly find: FindApiService; readonly list: () => KnownApiService[] } {
  const parsed = new WeakMap<ApiServiceObject, { readonly remote: RemoteApiService | undefined }>();
  const remoteOf = (object: ApiServiceObject): RemoteApiService | undefined => {
    let entry = parsed.get(object);
    if (entry === undefined) parsed.set(object, (entry = { remote: remoteApiService(object) }));
    return entry.remote;
  };
  const toKnown = (object: ApiServiceObject): KnownApiService | undefined => {
    const apiService = remoteOf(object);
    if (apiService === undefined) return undefined;
    // The result of this server's own check takes precedence. Before its first check, the condition in the object is
    // used.
    const condition = availability.condition(apiService.name) ?? availableCondition(object);
    return { apiService, isAvailable: condition?.status === "True" };
  };
  return {
    find(group, version) {
      const object = apiServices.get({ name: apiServiceName({ group, version }) });
      return object && toKnown(object);
    },
    list: () =>
      apiServices
        .byIndex(BY_SERVICE, "")
        .map(toKnown)
        .filter((known) => known !== undefined),
  };
}

function createMergedGroups(
  { localGroupVersions }: AggregationOptions,
  remote: () => Parameters<typeof mergeRemoteGroups>[1],
): Pick<Aggregation, "discoveryGroups"> & { readonly forget: () => void } {
  let last: { readonly local: readonly DiscoveryGroup[]; readonly merged: readonly DiscoveryGroup[] } | undefined;
  return {
    discoveryGroups(local) {
      if (last?.local === local) return last.merged;
      const priorities = new Map(localGroupVersions().map((entry) => [apiServiceName(entry), entry]));
      const merged = mergeRemoteGroups(local, remote(), (group, version) =>
        priorities.get(apiServiceName({ group, version })),
      );
      last = { local, merged };
      return merged;
    },
    forget() {
      last = undefined;
    },
  };
}

/** Notifies discovery of changes of aggregated APIServices, and ignores the many local ones. */
function watchRemote(
  apiServices: Informer<ApiServiceObject>,
  availability: Availability,
  discovery: RemoteDiscovery,
): void {
  const tell = (object: ApiServiceObject | undefined): void => {
    const remote = object && remoteApiService(object);
    if (remote !== undefined) discovery.changed(remote);
  };
  apiServices.addHandler({
    onAdd: tell,
    onUpdate(object, before) {
      if (jsonEquals(object.spec, before.spec)) return;
      tell(before);
      tell(object);
    },
    onDelete: tell,
  });
  availability.onChange((name) => tell(apiServices.get({ name })));
}

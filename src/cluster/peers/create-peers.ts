/**
 * Creates the peers of a server: which servers are live, what they serve, which have departed, and how to call them. It
 * builds the view from which `route.ts` decides, and publishes this server to its peers.
 */
import { waitUntil } from "../../base/background.ts";
import { ChangeCounter } from "../../base/change-counter.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { StartupHook } from "../../base/startup-hook.ts";
import type { DiscoverySource } from "../../serving/discovery/merge.ts";
import { createView } from "./build-view.ts";
import { hasCaughtUp } from "./caught-up-leases.ts";
import { createDeparted, type DepartedPart } from "./departed-records.ts";
import { liveIncarnations, type LiveIncarnations } from "./departed.ts";
import { withoutExcluded, type Excludable } from "./exclusions.ts";
import { createIdentity } from "./identity.ts";
import { knownPeers, recordOwner, registrationOf, unreachable } from "./known-peers.ts";
import { createOwnRecord } from "./own-record.ts";
import { createPeerCalls } from "./peer-calls.ts";
import type { PeerTracker } from "./peer-tracker.ts";
import type { Peers, PeersParts } from "./peers.ts";
import { createProxyMetrics, registerViewMetrics } from "./proxy-metrics.ts";
import { createServerTables, observeServers } from "./server-records.ts";
import { createRoutingSource } from "./routing-source.ts";
import { createListsUnread, excludeShared } from "./shared-resources.ts";
import type { ClusterView, PeerView } from "./view.ts";

/** Maximum time by which a peer that does not respond delays the readiness of this server. */
const FIRST_ROUND_MS = 5_000;

export function createPeers(parts: PeersParts): Peers {
  const { env, config, store, metrics, upstream } = parts;
  const { clock } = env;
  const { builtIn, shared } = parts.served;
  const tables = createServerTables(parts);
  const proxyMetrics = createProxyMetrics(metrics);
  const identity = createIdentity({
    env,
    config,
    client: parts.client,
    isStoreWatchAlive: () => store.cache.state === "following",
    hasRecord: (id) => tables.hasRecord(id),
    epoch: store.cache.epoch,
    recordOwner: (incarnation) => recordOwner(tables.endpoints, config.peers.serverId, incarnation),
    onListFailed: () => proxyMetrics.syncFailed("lease_list"),
  });
  const changes = new ChangeCounter();
  const peerChanges = new ChangeCounter();
  const onChange = (): void => peerChanges.count();
  const isExcluded = excludeShared({ clock, shared }, builtIn.groups);
  const listsUnread = createListsUnread(isExcluded, builtIn.groups);
  const { tracker, ask, forward } = createPeerCalls({
    env,
    config,
    upstream,
    metrics: proxyMetrics,
    listsUnread,
    onChange,
  });
  const sources = (): readonly DiscoverySource[] => withoutShared(tracker?.sources() ?? [], isExcluded);
  const { observer, tasks: observing } = observeServers(parts, tables, identity.leases);
  const live = (): LiveIncarnations => liveIncarnations(identity.self, observer.liveness);
  const departed = createDeparted({ env, config, store, identity, builtIn, sources, changes, live });
  peerChanges.onCount(() => {
    changes.count();
    departed.observe();
  });
  const source = createRoutingSource({
    config,
    clock,
    cache: store.cache,
    catalog: parts.catalog,
    isRegistered: parts.own.isRegistered,
    registrationOf: (id) => registrationOf(observer.servers, id),
    departedIds: () => departed.departed().map(({ serverId }) => serverId),
    onChange: () => changes.count(),
    isExcluded,
  });
  const peers = (): readonly PeerView[] => tracker?.views() ?? unreachable(knownPeers(observer.servers));
  const undescribed = (): string[] => peers().flatMap(({ id, isDescribed }) => (isDescribed ? [] : [id]));
  const isLoaded = (): boolean => identity.leases.hasSynced && tables.isLoaded();
  const view = createView({
    config,
    builtIn: builtIn.groups,
    shared: shared.served,
    peers,
    source,
    departed,
    changes,
    isLoaded,
  });
  const trackKnown = (): void => {
    changes.count();
    tracker?.update(knownPeers(observer.servers));
  };
  observer.onChange(trackKnown);
  registerViewMetrics(metrics, { view, liveness: () => observer.liveness, monotonic: () => clock.monotonic() });
  const own = createOwnRecord({ env, config, store, builtIn, ready: parts.own.ready, identity, tables });
  identity.beforeUnfence(() => own.confirm());
  return {
    identity,
    view,
    catchUp: () => hasCaughtUp({ env, config, store, identity, tables }),
    documents: {
      sources,
      generation: () => changes.generation,
      onChange: (listener) => changes.onCount(listener),
      undescribed,
      hasUndescribed: () => !view().isSynced || undescribed().length > 0,
    },
    records: {
      has: (id) => tables.hasRecord(id),
      endpoint: (id) => tables.endpoints.get(id),
      endpoints: () => tables.endpoints.all(),
      masterLeases: tables.masterLeases,
      liveness: () => observer.liveness,
      departed: () => departed.departed(),
      gone: () => departed.gone(),
    },
    forward,
    onUnresolved: (asked) => proxyMetrics.failed("endpoint_resolution", asked),
    ask,
    membership: {
      hooks: membershipHooks(env, { departed, tracker, view }),
      tasks: [...identity.tasks, ...tables.tasks, ...observing, ...source.tasks, ...departed.tasks, own.task],
      announce(address) {
        identity.announce(address);
        own.announce(address);
      },
      appear: (signal) => own.appear(signal),
      drain: () => own.drain(),
      async leave() {
        await tracker?.stop();
        await departed.leave();
        await own.remove();
        await identity.leave();
        await upstream?.close();
      },
    },
  };
}

/**
 * Removes shared (custom and aggregated) resources from the document of a kube-apiserver, which lists them as well. An
 * Evenkeel server lists only built-in resources.
 */
function withoutShared(
  sources: readonly DiscoverySource[],
  isExcluded: (question: Excludable) => boolean,
): DiscoverySource[] {
  return sources.map((one) =>
    one.isKubeApiserver === true ? { ...one, groups: withoutExcluded(one.groups, isExcluded) } : one,
  );
}

function membershipHooks(
  { clock }: BaseEnv,
  from: {
    readonly departed: DepartedPart;
    readonly tracker: PeerTracker | undefined;
    readonly view: () => ClusterView;
  },
): StartupHook[] {
  const { tracker, departed, view } = from;
  const firstRound = async (signal: AbortSignal): Promise<void> => {
    const until = clock.monotonic() + FIRST_ROUND_MS;
    const isDone = (): boolean => tracker === undefined || tracker.haveBeenAttempted || clock.monotonic() >= until;
    await waitUntil(clock, isDone, signal);
  };
  return [
    { name: "local-discovery-cache-sync", run: (signal) => departed.publish(signal) },
    { name: "mixed-version-proxy-handler", run: (signal) => waitUntil(clock, () => view().isSynced, signal) },
    { name: "peer-discovery-workers", run: firstRound },
    { name: "peer-endpoint-reconciler-controller", run: () => Promise.resolve() },
  ];
}

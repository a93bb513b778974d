/**
 * The peers of a server: which servers are live, what they serve, what has departed, and the way to them. Builds the view
 * that `route.ts` decides from, and publishes this server to the others.
 */
import { waitUntil, type BackgroundTask } from "../../base/background.ts";
import { ChangeCounter } from "../../base/change-counter.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { StartupHook } from "../../base/startup-hook.ts";
import type { Client } from "../../client/client.ts";
import type { Catalogue } from "../../objects/catalogue/catalogue.ts";
import type { LocalDocument } from "../../serving/discovery/local-document.ts";
import type { DiscoverySource } from "../../serving/discovery/merge.ts";
import type { Upstream, UpstreamAddress } from "../../serving/http/upstream.ts";
import type { Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { followPrefix } from "../../storage/watch-cache/follow-prefix.ts";
import { createAskPeer, type AskPeer } from "./ask-peer.ts";
import { createView } from "./build-view.ts";
import { hasCaughtUp } from "./caught-up-leases.ts";
import { createDeparted, type DepartedPart } from "./departed-records.ts";
import { endpointPrefix, type EndpointRecord } from "./endpoint-record.ts";
import { EndpointTable } from "./endpoint-registry.ts";
import { withoutExcluded, type Excludable } from "./exclusions.ts";
import { createForward, type Forward } from "./forward.ts";
import { createIdentity, type Identity } from "./identity.ts";
import { knownPeers, recordOwner, registrationOf, unreachable } from "./known-peers.ts";
import { createOwnRecord } from "./own-record.ts";
import type { MemberConfig } from "./peer-config.ts";
import { PeerTracker } from "./peer-tracker.ts";
import { createProxyMetrics, registerViewMetrics, type ProxyMetrics } from "./proxy-metrics.ts";
import { createRoutingSource } from "./routing-source.ts";
import type { ServedRecord } from "./served-record.ts";
import { excludeShared, type SharedResources } from "./shared-resources.ts";
import type { ClusterView, PeerView } from "./view.ts";

export interface PeersParts {
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  readonly store: { readonly kv: Kv; readonly cache: WatchCache };
  readonly catalogue: Catalogue;
  readonly client: Client;
  readonly metrics: MetricsRegistry;
  /** The way to peers; undefined when none can be called. */
  readonly upstream: Upstream | undefined;
  /** What this server serves: `builtIn` is all it publishes to peers, because they read the shared resources themselves. */
  readonly served: { readonly builtIn: LocalDocument; readonly shared: SharedResources };
  readonly own: {
    /** Resolves when this server may receive requests from peers. */
    readonly ready: Promise<void>;
    /** Whether everything this server stores is registered in StorageVersion objects. */
    readonly isRegistered: () => boolean;
  };
}

export interface Peers {
  readonly identity: Identity;
  readonly view: () => ClusterView;
  /** Waits until the view shows every server whose lease has been written by now; false when that cannot be known. */
  readonly catchUp: () => Promise<boolean>;
  readonly documents: PeerDocuments;
  readonly records: PeerRecords;
  readonly forward: Forward;
  /** Undefined when no peer can be called. */
  readonly ask: AskPeer | undefined;
  /** How this server joins and leaves. */
  readonly membership: Membership;
}

/** The discovery documents of described peers. */
export interface PeerDocuments {
  readonly sources: () => readonly DiscoverySource[];
  /** Counts up whenever documents, reachability, leases or records change. */
  readonly generation: () => number;
  /** Called when `generation` has counted up. The returned function removes the listener. */
  onChange(listener: () => void): () => void;
  /** IDs of live servers that have not published yet what they serve now. */
  readonly undescribed: () => readonly string[];
  /** A live server may be undescribed, so that nobody can conclude what does not exist. */
  readonly hasUndescribed: () => boolean;
}

/** For status reports: what servers have published about themselves. */
export interface PeerRecords {
  readonly endpoint: (id: string) => EndpointRecord | undefined;
  /** What servers served that have departed. */
  readonly departed: () => readonly ServedRecord[];
}

export interface Membership {
  readonly hooks: readonly StartupHook[];
  readonly tasks: readonly BackgroundTask[];
  /** Where peers reach this server, once that is known. */
  announce(address: UpstreamAddress): void;
  /** From now on peers send requests here only if no other server can serve them. */
  drain(): Promise<void>;
  /** Removes the endpoint record, then the identity lease. */
  leave(): Promise<void>;
}

/** A peer that does not respond must not keep this server from becoming ready for longer. */
const FIRST_ROUND_MS = 5_000;

export function createPeers(parts: PeersParts): Peers {
  const { env, config, store, metrics, upstream } = parts;
  const { clock, log } = env;
  const { builtIn, shared } = parts.served;
  const table = new EndpointTable({ storageRoot: config.storageRoot, log });
  const identity = createIdentity({
    env,
    config,
    client: parts.client,
    isStoreWatchAlive: () => store.cache.state === "following",
    hasEndpointRecord: (id) => table.has(id),
    recordOwner: (incarnation) => recordOwner(table, config.peers.serverId, incarnation),
  });
  const proxyMetrics = createProxyMetrics(metrics);
  const changes = new ChangeCounter();
  const peerChanges = new ChangeCounter();
  const onChange = (): void => peerChanges.count();
  const tracker = upstream && createTracker(parts, { upstream, metrics: proxyMetrics, onChange });
  const sources = (): readonly DiscoverySource[] => tracker?.sources() ?? [];
  const departed = createDeparted({ env, config, store, identity, builtIn, sources, changes });
  peerChanges.onCount(() => {
    changes.count();
    departed.observe();
  });
  const endpoints = followEndpoints(parts, table);
  const isExcluded = excludeShared({ clock, shared }, builtIn.groups);
  const source = createRoutingSource({
    config,
    clock,
    cache: store.cache,
    catalogue: parts.catalogue,
    isRegistered: parts.own.isRegistered,
    registrationOf: (id) => registrationOf(identity, table, id),
    departedIds: () => departed.departed().map(({ serverId }) => serverId),
    onChange: () => changes.count(),
    isExcluded,
  });
  const peers = (): readonly PeerView[] => tracker?.views() ?? unreachable(knownPeers(identity, table));
  const undescribed = (): string[] => peers().flatMap(({ id, isDescribed }) => (isDescribed ? [] : [id]));
  const isLoaded = (): boolean => identity.leases.hasSynced && endpoints.isLoaded();
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
    tracker?.update(knownPeers(identity, table));
  };
  table.onChange(() => {
    identity.leases.reconsider();
    trackKnown();
  });
  identity.leases.onChange(trackKnown);
  registerViewMetrics(metrics, view, () => clock.monotonic());
  const own = createOwnRecord({ env, config, store, builtIn, ready: parts.own.ready }, identity, table);
  return {
    identity,
    view,
    catchUp: () => hasCaughtUp({ env, config, store }, identity),
    documents: {
      sources: () => withoutShared(sources(), isExcluded),
      generation: () => changes.generation,
      onChange: (listener) => changes.onCount(listener),
      undescribed,
      hasUndescribed: () => !view().isSynced || undescribed().length > 0,
    },
    records: { endpoint: (id) => table.get(id), departed: () => departed.departed() },
    forward: createForwarding(parts, { upstream, tracker, metrics: proxyMetrics }),
    ask: upstream && createAskPeer({ upstream, clock }),
    membership: {
      hooks: membershipHooks(env, { departed, tracker, view }),
      tasks: [...identity.tasks, endpoints.task, ...source.tasks, ...departed.tasks, own.task],
      announce(address) {
        identity.announce(address);
        own.announce(address);
      },
      drain: () => own.drain(),
      async leave() {
        await tracker?.stop();
        await own.remove();
        await identity.leave();
        await upstream?.close();
      },
    },
  };
}

/** A peer that publishes its release publishes only what is built in; a kube-apiserver also lists shared resources. */
function withoutShared(
  sources: readonly DiscoverySource[],
  isExcluded: (question: Excludable) => boolean,
): DiscoverySource[] {
  return sources.map((one) =>
    one.release === undefined ? { ...one, groups: withoutExcluded(one.groups, isExcluded) } : one,
  );
}

function createTracker(
  { env, config }: PeersParts,
  using: { readonly upstream: Upstream; readonly metrics: ProxyMetrics; readonly onChange: () => void },
): PeerTracker {
  const { clock, random, log } = env;
  const ask = createAskPeer({ upstream: using.upstream, clock });
  return new PeerTracker({ ...using, clock, random, log, ask, timing: config.peers.timing });
}

function followEndpoints(
  { env, config, store }: PeersParts,
  table: EndpointTable,
): { readonly task: BackgroundTask; readonly isLoaded: () => boolean } {
  let isLoaded = false;
  const stored = (entry: Entry): unknown => (entry.corrupt === undefined ? parseEntry(entry) : undefined);
  const task = followPrefix({
    cache: store.cache,
    clock: env.clock,
    prefix: endpointPrefix(config.storageRoot),
    table: {
      reset(entries) {
        table.reset(entries.map((entry) => [entry.key, stored(entry)] as const));
        isLoaded = true;
      },
      put: (entry) => table.upsert(entry.key, stored(entry)),
      remove: (key) => table.remove(key),
    },
  });
  return { task, isLoaded: () => isLoaded };
}

function createForwarding(
  { env, config }: PeersParts,
  using: {
    readonly upstream: Upstream | undefined;
    readonly tracker: PeerTracker | undefined;
    readonly metrics: ProxyMetrics;
  },
): Forward {
  const { upstream, tracker, metrics } = using;
  // Without a way to peers no route leads to one.
  if (upstream === undefined) return () => Promise.reject(new Error("no peer can be called"));
  const { clock, random, log } = env;
  return createForward({
    upstream,
    clock,
    random,
    log,
    metrics,
    requestsInflightMax: config.peers.requestsInflightMax,
    onAnswer: (id) => tracker?.reportAnswer(id),
    onMiss: (id, error) => tracker?.reportMiss(id, error),
  });
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

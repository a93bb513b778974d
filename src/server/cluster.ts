/**
 * What a server has to do with others of its cluster, put together: who is there, what they serve, what has departed,
 * and the view that routing decides from. Reads like build-server.ts: it only connects.
 */
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Catalogue } from "../objects/catalogue/catalogue.ts";
import type { Client } from "../client/client.ts";
import type { DiscoveryGroup } from "../serving/discovery/groups.ts";
import type { DiscoverySource } from "../serving/discovery/merge.ts";
import type { Upstream, UpstreamAddress } from "../serving/http/upstream.ts";
import { createAskPeer, type AskPeer } from "../cluster/peers/ask-peer.ts";
import { endpointPrefix, type EndpointRecord } from "../cluster/peers/endpoint-record.ts";
import { EndpointTable } from "../cluster/peers/endpoint-registry.ts";
import { createForward, type Forward } from "../cluster/peers/forward.ts";
import { PeerTracker } from "../cluster/peers/peer-tracker.ts";
import { createProxyMetrics, registerViewMetrics, type ProxyMetrics } from "../cluster/peers/proxy-metrics.ts";
import type { ServedRecord } from "../cluster/peers/served-record.ts";
import { Exclusions, withoutExcluded, type Excludable } from "../cluster/peers/exclusions.ts";
import { createServedSet, eitherServedSet, type ServedSet } from "../cluster/peers/served-set.ts";
import type { ClusterView, PeerView } from "../cluster/peers/view.ts";
import type { Kv } from "../storage/kv.ts";
import type { WatchCache } from "../storage/watch-cache/cache.ts";
import { parseEntry, type Entry } from "../storage/watch-cache/entry.ts";
import { waitUntil, type BackgroundTask } from "./background.ts";
import { hasCaughtUp } from "./caught-up-leases.ts";
import { createSupports } from "./capabilities.ts";
import type { ServerConfig } from "./config.ts";
import { createDeparted, type DepartedPart } from "./departed.ts";
import type { Env } from "./env.ts";
import { followPrefix } from "./follow-prefix.ts";
import { createIdentity, type Identity } from "./identity.ts";
import { knownPeers, recordOwner, registrationOf, unreachable } from "./known-peers.ts";
import type { StartupHook } from "./lifecycle.ts";
import { createOwnRecord } from "./own-record.ts";
import { createRoutingSource, type RoutingSource } from "./routing-source.ts";

export interface ClusterParts {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly kv: Kv;
  readonly cache: WatchCache;
  readonly catalogue: Catalogue;
  readonly client: Client;
  readonly metrics: MetricsRegistry;
  /** What is built into this server, and a digest of it: peers are told nothing else, for they see the rest themselves. */
  readonly local: { readonly groups: readonly DiscoveryGroup[]; readonly etag: string };
  /** What it serves besides: custom and aggregated resources. */
  readonly shared: SharedResources;
  /** The way to peers; undefined when none can be called. */
  readonly upstream: Upstream | undefined;
  /** Resolves when this server may be sent requests. */
  readonly ready: Promise<void>;
  /** What others must know before this server writes, at its start and whenever it was silent for too long. */
  readonly beforeUnfence: (signal: AbortSignal) => Promise<void>;
  /** Whether everything this server stores is registered in StorageVersion objects. */
  readonly isRegistered: () => boolean;
}

/** What lives in the shared store, so that every server sees it by itself. */
export interface SharedResources {
  readonly served: ServedSet;
  /** All that was there at the start is known. */
  isLoaded(): boolean;
  /** As `exclusionName` names them. */
  names(): Iterable<string>;
  /** The returned function ends it. */
  onChange(listener: () => void): () => void;
}

export interface Cluster {
  readonly identity: Identity;
  readonly view: () => ClusterView;
  /** There may be a live server whose document is not here, so that nobody can say what does not exist. */
  readonly hasUndescribed: () => boolean;
  /** IDs of the live servers that have not shown yet what they serve now. */
  readonly undescribed: () => readonly string[];
  /** Waits until the view shows every server whose lease has been written by now; false when that cannot be known. */
  readonly catchUp: () => Promise<boolean>;
  readonly forward: Forward;
  /** Undefined when no peer can be called. */
  readonly ask: AskPeer | undefined;
  /** Documents of described peers; counts up whenever they or their reachability change. */
  readonly sources: () => readonly DiscoverySource[];
  readonly generation: () => number;
  /** For people: the endpoint record of a server, and what runs that are over served. */
  readonly record: (id: string) => EndpointRecord | undefined;
  readonly departed: () => readonly ServedRecord[];
  /** Called when `generation` has counted up. The returned function ends it. */
  onChange(listener: () => void): () => void;
  readonly hooks: readonly StartupHook[];
  readonly tasks: readonly BackgroundTask[];
  /** Where peers reach this server, once that is known. */
  announce(address: UpstreamAddress): void;
  /** From now on peers send requests here only if nobody else can answer them. */
  drain(): Promise<void>;
  /** Nobody is sent here any more; the identity goes last. */
  leave(): Promise<void>;
}

/** A peer that does not answer must not keep this server from becoming ready for longer. */
const FIRST_ROUND_MS = 5_000;

export function createCluster(parts: ClusterParts): Cluster {
  const { env, config, cache, metrics, upstream } = parts;
  const { log } = env;
  const { storageRoot } = config;
  const table = new EndpointTable({ storageRoot, log });
  const identity = createIdentity({
    ...parts,
    isStoreWatchAlive: () => cache.state === "following",
    hasEndpointRecord: (id) => table.has(id),
    recordOwner: (incarnation) => recordOwner(table, config.peers.serverId, incarnation),
  });
  const proxyMetrics = createProxyMetrics(metrics);
  const changes = new Changes();
  const onChange = (): void => {
    changes.count();
    departed.observe();
  };
  const tracker = upstream && createTracker(parts, { upstream, metrics: proxyMetrics, onChange });
  const departed = createDeparted({ ...parts, identity, sources: () => tracker?.sources() ?? [], changes });
  const followTable = followEndpoints(parts, table);
  const isExcluded = followShared(parts);
  const source = createRoutingSource({
    ...{ ...parts, clock: env.clock, registrationOf: (id) => registrationOf(identity, table, id), isExcluded },
    departedIds: () => departed.departed().map(({ serverId }) => serverId),
    onChange: () => changes.count(),
  });
  const peers = (): readonly PeerView[] => tracker?.views() ?? unreachable(knownPeers(identity, table));
  const undescribed = (): string[] => peers().flatMap(({ id, isDescribed }) => (isDescribed ? [] : [id]));
  const view = createView(parts, { identity, peers, source, departed, changes, isLoaded: followTable.isLoaded });
  const update = (): void => tracker?.update(knownPeers(identity, table));
  table.onChange(() => {
    identity.leases.reconsider();
    changes.count();
    update();
  });
  identity.leases.onChange(() => {
    changes.count();
    update();
  });
  registerViewMetrics(metrics, view, () => env.clock.monotonic());
  const own = createOwnRecord(parts, identity, table);
  return {
    identity,
    view,
    hasUndescribed: () => !view().isSynced || undescribed().length > 0,
    undescribed,
    catchUp: () => hasCaughtUp(parts, identity),
    forward: createForwarding(parts, { upstream, tracker, metrics: proxyMetrics }),
    ask: upstream && createAskPeer({ upstream, clock: env.clock }),
    sources: () => withoutShared(tracker?.sources() ?? [], isExcluded),
    generation: () => changes.generation,
    record: (id) => table.get(id),
    departed: () => departed.departed(),
    onChange: (listener) => changes.onCount(listener),
    hooks: clusterHooks(parts, { departed, tracker, view }),
    tasks: [...identity.tasks, followTable.task, ...source.tasks, ...departed.tasks, own.task],
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
  };
}

/** Whoever tells its release tells of nothing but what is built in. */
function withoutShared(
  sources: readonly DiscoverySource[],
  isExcluded: (question: Excludable) => boolean,
): DiscoverySource[] {
  return sources.map((one) =>
    one.release === undefined ? { ...one, groups: withoutExcluded(one.groups, isExcluded) } : one,
  );
}

/** What peers say of these is not used. */
function followShared({ env, local, shared }: ClusterParts): (question: Excludable) => boolean {
  const builtIn = createServedSet(local.groups);
  const exclusions = new Exclusions({ isBuiltIn: (group, version) => builtIn.hasGroupVersion(group, version) });
  let isOutdated = true;
  const update = (): void => void exclusions.update(shared.names(), env.clock.monotonic());
  shared.onChange(() => {
    // One that came and went must have been seen; those that are there at the start come all at once.
    if (shared.isLoaded()) update();
    else isOutdated = true;
  });
  return (question) => {
    if (isOutdated) update();
    isOutdated = !shared.isLoaded();
    return exclusions.isExcluded(question, env.clock.monotonic());
  };
}

/** Counts what has changed, so that what was built from it knows that it is old. */
export class Changes {
  generation = 0;
  readonly #listeners = new Set<() => void>();

  count(): void {
    this.generation++;
    for (const listener of this.#listeners) listener();
  }

  onCount(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

function createTracker(
  { env, config }: ClusterParts,
  using: { readonly upstream: Upstream; readonly metrics: ProxyMetrics; readonly onChange: () => void },
): PeerTracker {
  const { clock, random, log } = env;
  const ask = createAskPeer({ upstream: using.upstream, clock });
  return new PeerTracker({ ...using, clock, random, log, ask, timing: config.peers.timing });
}

function followEndpoints(
  { env, config, cache }: ClusterParts,
  table: EndpointTable,
): { readonly task: BackgroundTask; readonly isLoaded: () => boolean } {
  let isLoaded = false;
  const stored = (entry: Entry): unknown => (entry.corrupt === undefined ? parseEntry(entry) : undefined);
  const task = followPrefix({
    cache,
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

interface ViewParts {
  readonly identity: Identity;
  /** As their documents describe them. */
  readonly peers: () => readonly PeerView[];
  readonly source: RoutingSource;
  readonly departed: DepartedPart;
  readonly changes: Changes;
  readonly isLoaded: () => boolean;
}

/** Asked for by every request: the same value until something has changed. */
function createView(parts: ClusterParts, from: ViewParts): () => ClusterView {
  const { config, local, shared } = parts;
  const { serverId: id, missingFlag } = config.peers;
  const { identity, peers, source, departed, changes } = from;
  const supports = createSupports();
  const served = eitherServedSet(createServedSet(local.groups), shared.served);
  let view: ClusterView | undefined;
  let builtFrom = -1;
  const isSynced = (): boolean => identity.leases.hasSynced && from.isLoaded() && source.isSynced();
  return () => {
    const isSyncedNow = isSynced();
    if (isSyncedNow && view?.isSynced === true && builtFrom === changes.generation) return view;
    builtFrom = changes.generation;
    view = {
      self: { id, release: config.release },
      isSynced: isSyncedNow,
      missingFlag,
      local: served,
      departed: departed.index(),
      ...source.describe(peers()),
      supports,
    };
    return view;
  };
}

function createForwarding(
  { env, config }: ClusterParts,
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

function clusterHooks(
  { env }: ClusterParts,
  from: Pick<ViewParts, "departed"> & {
    readonly tracker: PeerTracker | undefined;
    readonly view: () => ClusterView;
  },
): StartupHook[] {
  const { clock } = env;
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

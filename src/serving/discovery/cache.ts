/**
 * Caches the discovery documents in three sets: one of this server, one that this server sends to peers, and one of the
 * whole cluster or its newest server. Each form of a document is encoded at its first request. The cluster set is valid
 * for one generation and one array of local groups. The generation is read before the build starts, so that a change
 * during the build causes a rebuild at the next request.
 */
import { createHash } from "node:crypto";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { DiscoveryGroup } from "./groups.ts";
import { mergeSources, type DiscoverySource } from "./merge.ts";
import { newestFirst } from "./newest.ts";
import { sharedGroups } from "./shared-groups.ts";

export interface CacheOptions {
  readonly self: {
    readonly id: string;
    /** The ID of the run; absent for a server without peers. */
    readonly run?: string;
    readonly release: string;
    readonly binaryVersion?: string;
  };
  /** Selects the servers whose resources a client sees: all servers, the newest one, or this one. */
  readonly mode: "merged" | "newest" | "local";
  /** The groups that this server serves. Returns the same array until a group changes. */
  readonly local: () => readonly DiscoveryGroup[];
  /** The groups that this server sends to peers. Default: all groups of `local`. */
  readonly forPeers?: readonly DiscoveryGroup[];
  /** All peers with a discovery document, or "off" if this server does not show the resources of peers. */
  readonly peers: () => readonly DiscoverySource[] | "off";
  /** Changes whenever the result of `peers` changes. */
  readonly generation: () => number;
  readonly metrics: MetricsRegistry;
}

export interface EncodedDiscovery {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** The encoded documents of one set of groups. */
export interface Documents {
  readonly groups: readonly DiscoveryGroup[];
  group(name: string): DiscoveryGroup | undefined;
  /** Returns the document with this key. `make` builds it at the first call. */
  encoded(key: string, make: () => JsonObject): EncodedDiscovery;
}

interface DiscoveryCache {
  local(): Documents;
  ofCluster(): Documents;
  forPeers(): Documents;
}

export function createDiscoveryCache(options: CacheOptions): DiscoveryCache {
  const { self, mode, metrics } = options;
  const { id: serverId, release, binaryVersion } = self;
  const count = createCounters(metrics);
  let ofLocal: Documents | undefined;
  let ofPeers: Documents | undefined;
  let last: Made | undefined;

  const local = (groups: readonly DiscoveryGroup[]): Documents => {
    if (ofLocal?.groups === groups) return ofLocal;
    count.aggregations.inc();
    ofLocal = createDocuments(groups);
    return ofLocal;
  };

  const build = (groups: readonly DiscoveryGroup[], generation: number): Made => {
    const peers = options.peers();
    const isOff = peers === "off";
    if (isOff || peers.length === 0 || mode === "local") return { groups, generation, isOff, documents: local(groups) };
    const own: DiscoverySource = { serverId, release, binaryVersion, isReachable: true, groups };
    const shown = mode === "merged" ? mergeSources([own, ...peers]) : ofNewest(own, peers);
    return { groups, generation, isOff, documents: documentsOf(shown, groups) };
  };

  /** The built-in resources of the newest server, and the custom and aggregated resources that this server reads. */
  const ofNewest = (own: DiscoverySource, peers: readonly DiscoverySource[]): readonly DiscoveryGroup[] => {
    const [newest = own] = newestFirst([own, ...peers]);
    if (newest === own) return own.groups;
    const shared = sharedGroups(own.groups, options.forPeers ?? own.groups);
    return shared.length === 0 ? newest.groups : mergeSources([newest, { ...own, groups: shared }]);
  };

  /**
   * Keeps the encoded documents if `shown` is the array from which they were made. In newest mode that is so until the
   * newest server changes, unless there are custom or aggregated resources.
   */
  const documentsOf = (shown: readonly DiscoveryGroup[], groups: readonly DiscoveryGroup[]): Documents => {
    if (shown === groups) return local(groups);
    return last?.documents.groups === shown ? last.documents : createDocuments(shown);
  };

  return {
    local: () => local(options.local()),
    forPeers: () =>
      options.forPeers === undefined ? local(options.local()) : (ofPeers ??= createDocuments(options.forPeers)),
    ofCluster() {
      const generation = options.generation();
      const groups = options.local();
      const isHit = last?.generation === generation && last.groups === groups;
      const found = isHit && last !== undefined ? last : build(groups, generation);
      if (!found.isOff) (isHit ? count.hits : count.misses).inc();
      last = found;
      return found.documents;
    },
  };
}

interface Made {
  /** The groups that this server itself serves. */
  readonly groups: readonly DiscoveryGroup[];
  readonly generation: number;
  readonly isOff: boolean;
  readonly documents: Documents;
}

function createDocuments(groups: readonly DiscoveryGroup[]): Documents {
  const byName = new Map(groups.map((group) => [group.name, group]));
  const encoded = new Map<string, EncodedDiscovery>();
  return {
    groups,
    group: (name) => byName.get(name),
    encoded(key, make) {
      let known = encoded.get(key);
      if (known === undefined) encoded.set(key, (known = encode(make())));
      return known;
    },
  };
}

function encode(document: JsonObject): EncodedDiscovery {
  const bytes = Buffer.from(`${JSON.stringify(document)}\n`);
  const digest = createHash("sha512").update(bytes).digest("hex").toUpperCase();
  return { bytes, etag: `"${digest}"` };
}

function createCounters(metrics: MetricsRegistry): Record<"aggregations" | "hits" | "misses", { inc(): void }> {
  const counter = (name: string, help: string): { inc(): void } => metrics.counter({ name, help }).with();
  return {
    aggregations: counter("aggregator_discovery_aggregation_count_total", "Rebuilds of this server's own document."),
    hits: counter(
      "aggregator_discovery_peer_aggregated_cache_hits_total",
      "Responses from the cached merged document.",
    ),
    misses: counter("aggregator_discovery_peer_aggregated_cache_misses_total", "Rebuilds of the merged document."),
  };
}

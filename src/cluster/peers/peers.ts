/** The interface through which other parts of the server use its peers, and the parts from which it is created. */
import type { BackgroundTask } from "../../base/background.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { StartupHook } from "../../base/startup-hook.ts";
import type { Client } from "../../client/client.ts";
import type { Catalog } from "../../objects/catalog/catalog.ts";
import type { LocalDocument } from "../../serving/discovery/local-document.ts";
import type { DiscoverySource } from "../../serving/discovery/merge.ts";
import type { Upstream, UpstreamAddress } from "../../serving/http/upstream.ts";
import type { Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import type { RequestPeer } from "./request-peer.ts";
import type { EndpointRecord } from "./endpoint-record.ts";
import type { Liveness } from "./live-servers.ts";
import type { MasterLeaseTable } from "./master-leases.ts";
import type { Forward } from "./forward.ts";
import type { Identity } from "./identity.ts";
import type { MemberConfig } from "./peer-config.ts";
import type { ProxiedResource } from "./proxy-metrics.ts";
import type { ServedRecord } from "./served-record.ts";
import type { SharedResources } from "./shared-resources.ts";
import type { ClusterView, GoneServer } from "./view.ts";

export interface PeersParts {
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  readonly store: { readonly kv: Kv; readonly cache: WatchCache };
  readonly catalog: Catalog;
  readonly client: Client;
  readonly metrics: MetricsRegistry;
  /** The connections to peers; undefined if no peer can be called. */
  readonly upstream: Upstream | undefined;
  /**
   * The resources that this server serves. It publishes only `builtIn` to peers, because they read shared (custom and
   * aggregated) resources from the store themselves.
   */
  readonly served: { readonly builtIn: LocalDocument; readonly shared: SharedResources };
  readonly own: {
    /** Resolves when this server may receive requests from peers. */
    readonly ready: Promise<void>;
    /** Whether this server has registered all resources that it stores in StorageVersion objects. */
    readonly isRegistered: () => boolean;
  };
}

export interface Peers {
  readonly identity: Identity;
  readonly view: () => ClusterView;
  /**
   * Waits until the view includes every server whose lease was written before the call; resolves to false if that
   * cannot be determined.
   */
  readonly catchUp: () => Promise<boolean>;
  readonly documents: PeerDocuments;
  readonly records: PeerRecords;
  readonly forward: Forward;
  /** Counts a request that no peer could serve, because the addresses of all peers that serve it are unknown. */
  readonly onUnresolved: (asked: ProxiedResource) => void;
  /** Undefined if no peer can be called. */
  readonly ask: RequestPeer | undefined;
  /** Joins and leaves the cluster. */
  readonly membership: Membership;
}

/** The latest known discovery documents of peers, including outdated ones. */
export interface PeerDocuments {
  readonly sources: () => readonly DiscoverySource[];
  /** Increases whenever documents, reachability, leases or records change. */
  readonly generation: () => number;
  /** Adds a listener that is called when `generation` has increased. The returned function removes it. */
  onChange(listener: () => void): () => void;
  /** IDs of live servers whose current discovery document is not known yet. */
  readonly undescribed: () => readonly string[];
  /**
   * Whether a live server may be undescribed. While true, this server must not conclude that a resource does not exist.
   */
  readonly hasUndescribed: () => boolean;
}

/** The records that servers have published about themselves, for status reports. */
interface PeerRecords {
  /** Whether the store shows that the server with this ID exists: it has an endpoint record or a starting record. */
  readonly has: (id: string) => boolean;
  readonly endpoint: (id: string) => EndpointRecord | undefined;
  /** The endpoint records of all servers, this one included. */
  readonly endpoints: () => readonly EndpointRecord[];
  readonly masterLeases: MasterLeaseTable;
  readonly liveness: () => Liveness;
  /** The served records of departed servers. */
  readonly departed: () => readonly ServedRecord[];
  /** The servers that departed within their grace period and have not returned. */
  readonly gone: () => readonly GoneServer[];
}

interface Membership {
  readonly hooks: readonly StartupHook[];
  readonly tasks: readonly BackgroundTask[];
  /** Resolves when the store shows that this server exists. Must precede its identity lease. */
  appear(signal: AbortSignal): Promise<void>;
  /** Sets the address at which peers reach this server, once it is known. */
  announce(address: UpstreamAddress): void;
  /**
   * Publishes that this server is draining: from then on peers send it requests only if no other server can serve them.
   */
  drain(): Promise<void>;
  /** Records the graceful departure, and removes the endpoint record, then the identity lease. */
  leave(): Promise<void>;
}

/** The peers of a server as its other parts see them, and what they are created from. */
import type { BackgroundTask } from "../../base/background.ts";
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
import type { AskPeer } from "./ask-peer.ts";
import type { EndpointRecord } from "./endpoint-record.ts";
import type { Forward } from "./forward.ts";
import type { Identity } from "./identity.ts";
import type { MemberConfig } from "./peer-config.ts";
import type { ServedRecord } from "./served-record.ts";
import type { SharedResources } from "./shared-resources.ts";
import type { ClusterView } from "./view.ts";

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
interface PeerRecords {
  readonly endpoint: (id: string) => EndpointRecord | undefined;
  /** What servers served that have departed. */
  readonly departed: () => readonly ServedRecord[];
}

interface Membership {
  readonly hooks: readonly StartupHook[];
  readonly tasks: readonly BackgroundTask[];
  /** Where peers reach this server, once that is known. */
  announce(address: UpstreamAddress): void;
  /** From now on peers send requests here only if no other server can serve them. */
  drain(): Promise<void>;
  /** Removes the endpoint record, then the identity lease. */
  leave(): Promise<void>;
}

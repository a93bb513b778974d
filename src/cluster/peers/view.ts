/**
 * The view of a server: an immutable value that holds what it knows about its cluster at one moment. `route.ts` decides
 * from it, and `status` prints it. A peer is known if it has an identity lease, reachable if it responds to probes, and
 * described if its current discovery document is known.
 */
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import type { KubeFacts } from "./kube-facts.ts";
import type { ServedSet } from "./served-set.ts";

export interface PeerView {
  readonly id: string;
  /**
   * The host and port of a kube-apiserver whose ID is a guess, because it was found by its masterlease. Messages show
   * this instead of the ID, which may be that of another server.
   */
  readonly calledAt?: string | undefined;
  /**
   * The release as which the peer behaves, such as "1.36". An Evenkeel server publishes it in its endpoint record; this
   * server reads it from a kube-apiserver. Undefined until it is known.
   */
  readonly release: string | undefined;
  /** Present if the peer is a kube-apiserver, or nothing is known about it but its identity lease. */
  readonly kube?: KubeView | undefined;
  /** Undefined until the peer's current run has an endpoint record. */
  readonly address: UpstreamAddress | undefined;
  readonly isReachable: boolean;
  /** Why the peer is unreachable, in words; undefined if it is reachable or the reason is not known yet. */
  readonly unreachableBecause?: string | undefined;
  /** Whether the peer is shutting down: it is chosen only if no other server can serve the request. */
  readonly isDraining: boolean;
  /**
   * Whether the document is current: false until it is known, and after a restart of the peer until the new document is
   * known.
   */
  readonly isDescribed: boolean;
  /** Why the current document could not be fetched, in words; undefined if the last attempt did not fail. */
  readonly undescribedBecause?: string | undefined;
  /** Undefined until the peer has been described once. Kept while its lease is valid, however old the document is. */
  readonly document: PeerDocumentView | undefined;
}

/** The facts that this server has read from a kube-apiserver. */
export interface KubeView extends KubeFacts {
  /** The release that its discovery document suggests; undefined if the release was read, or there is no document. */
  readonly assumedRelease: string | undefined;
}

interface PeerDocumentView {
  readonly served: ServedSet;
  /** Monotonic time at which the peer last confirmed the document. */
  readonly confirmedAtMs: number;
}

/** A server of this cluster that served a resource which no live server serves. */
export interface Departed {
  readonly serverId: string;
  /** As in `PeerView`. */
  readonly calledAt?: string | undefined;
  readonly release: string | undefined;
  /** RFC 3339, by the clock of the server that noticed the departure. */
  readonly departedAt: string;
}

/** A server that departed recently and has not returned. */
export interface GoneServer extends Departed {
  /** Whether the server ended with a graceful shutdown. */
  readonly isGraceful: boolean;
}

export interface ClusterView {
  readonly self: { readonly id: string; readonly release: string };
  /** Whether the leases, the endpoint records and the routing source are loaded. */
  readonly isSynced: boolean;
  /**
   * The flag that must be set before a peer can be called, such as "--peer-ca-file"; undefined if peers can be called.
   */
  readonly missingFlag: string | undefined;
  readonly local: ServedSet;
  /** Every other server with a valid identity lease, sorted by ID. */
  readonly peers: readonly PeerView[];
  departed(resource: ResourceQuestion): Departed | undefined;
  /**
   * Whether the resource is custom or aggregated, or was so until recently. The local server decides about it, because
   * it is defined in the shared store. The document of a peer counts only for resources that the local server has not
   * seen yet.
   */
  isDecidedLocally(group: string, version: string, resource: string): boolean;
  /** Whether the peer, judged by its release, supports a feature that the local server lacks. False if unknown. */
  supports(peer: PeerView, resource: ResourceQuestion, need: CapabilityNeed): boolean;
}

/**
 * A feature that a request needs besides the resource, and for lack of which the local server would reject the request
 * or drop fields.
 */
export type CapabilityNeed =
  | { readonly kind: "field-selector"; readonly labels: readonly string[] }
  | { readonly kind: "patch-type"; readonly patchType: string }
  | NamedFieldsNeed;

/** Fields of a body that the local server would drop without rejecting the request. */
export interface NamedFieldsNeed {
  readonly kind: "fields";
  /** The kind of the body, which for some subresources is not the kind of the resource. */
  readonly of: { readonly group: string; readonly version: string; readonly kind: string };
  /** Field names and list indexes. */
  readonly paths: readonly (readonly (string | number)[])[];
}

export interface ResourceQuestion {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** "" for the resource itself. */
  readonly subresource: string;
}

/** The view of a server without peers, which decides about every resource itself. */
export function loneView(self: ClusterView["self"]): ClusterView {
  return {
    self,
    isSynced: true,
    missingFlag: undefined,
    local: { has: () => false, hasVerb: () => false, hasGroupVersion: () => false, hasGroup: () => false },
    peers: [],
    departed: () => undefined,
    isDecidedLocally: () => true,
    supports: () => false,
  };
}

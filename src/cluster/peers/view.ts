/**
 * The view of a server: an immutable value that holds what it knows about its cluster at one moment. `route.ts` decides
 * from it, `status` prints it. A peer is known (identity lease), reachable (probe) and described (discovery document
 * with its age).
 */
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import type { ServedSet } from "./served-set.ts";

export interface PeerView {
  readonly id: string;
  /**
   * The release as which it behaves, such as "1.36", from its endpoint record; undefined for a kube-apiserver, which
   * does not publish it.
   */
  readonly release: string | undefined;
  /** Undefined until its endpoint record exists. */
  readonly address: UpstreamAddress | undefined;
  readonly isReachable: boolean;
  /** It is leaving the cluster: chosen only if no other server can serve the request. */
  readonly isDraining: boolean;
  /** Whether the document is current: false until it is known, and again after a restart until the new one is known. */
  readonly isDescribed: boolean;
  /** Undefined until it has been described once. Kept while its lease is valid, however old. */
  readonly document: PeerDocumentView | undefined;
}

interface PeerDocumentView {
  readonly served: ServedSet;
  /** Monotonic time at which the document was last confirmed. */
  readonly confirmedAtMs: number;
}

/** A server of this cluster that served a resource which no live server serves. */
export interface Departed {
  readonly serverId: string;
  readonly release: string | undefined;
  /** RFC 3339, by the clock of the server that noticed the departure. */
  readonly departedAt: string;
}

export interface ClusterView {
  readonly self: { readonly id: string; readonly release: string };
  /** Whether the local document and the leases are loaded. */
  readonly isSynced: boolean;
  /** A flag without which no peer can be called, such as "--peer-ca-file"; undefined if the proxy can work. */
  readonly missingFlag: string | undefined;
  readonly local: ServedSet;
  /** Every other server with a valid identity lease, by ID. */
  readonly peers: readonly PeerView[];
  departed(resource: ResourceQuestion): Departed | undefined;
  /**
   * Whether it is a custom resource or an aggregated group version, including recently deleted ones: the local server
   * decides about them, because they are defined in the shared store. A peer's document counts only for those not seen
   * here yet.
   */
  isDecidedLocally(group: string, version: string, resource: string): boolean;
  /** Whether a peer, judging by its release, would accept what the local server rejects. False in doubt. */
  supports(peer: PeerView, resource: ResourceQuestion, need: CapabilityNeed): boolean;
}

/** A feature that a request needs beyond a served resource, for lack of which the local server would reject it. */
export type CapabilityNeed =
  | { readonly kind: "field-selector"; readonly labels: readonly string[] }
  | { readonly kind: "patch-type"; readonly patchType: string }
  | NamedFieldsNeed;

/** Fields of a body that the local server would drop, not reject. */
export interface NamedFieldsNeed {
  readonly kind: "fields";
  /** The kind of the body, which for some subresources is not the kind of the resource. */
  readonly of: { readonly group: string; readonly version: string; readonly kind: string };
  /** Member names and list indexes. */
  readonly paths: readonly (readonly (string | number)[])[];
}

export interface ResourceQuestion {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** "" for the resource itself. */
  readonly subresource: string;
}

/** The view of a server without peers that decides about every resource itself. */
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

/**
 * What one server believes about its cluster at one moment: a value. `route.ts` decides from it, `status` prints it.
 * A peer is known (identity lease), reachable (probe) and described (discovery document with its age).
 */
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import type { ServedSet } from "./served-set.ts";

export interface PeerView {
  readonly id: string;
  /** "1.36", which it behaves as, as its endpoint record says; undefined for a kube-apiserver, which does not tell. */
  readonly release: string | undefined;
  /** Undefined until its endpoint record is there. */
  readonly address: UpstreamAddress | undefined;
  readonly isReachable: boolean;
  /** It is leaving: chosen only if nobody else can. */
  readonly isDraining: boolean;
  /** The document is what it serves now: false as well while a server that started anew has not said what it serves. */
  readonly isDescribed: boolean;
  /** Undefined until it has been described once. Kept while its lease lives, however old. */
  readonly document: PeerDocumentView | undefined;
}

interface PeerDocumentView {
  readonly served: ServedSet;
  /** By the monotonic clock, when the document was last confirmed. */
  readonly confirmedAtMs: number;
}

/** What a server of this cluster served and no live one serves. */
export interface Departed {
  readonly serverId: string;
  readonly release: string | undefined;
  /** RFC 3339, by the clock of whoever noticed. */
  readonly departedAt: string;
}

export interface ClusterView {
  readonly self: { readonly id: string; readonly release: string };
  /** The local document and the lease watch are there. */
  readonly isSynced: boolean;
  /** A flag without which no peer can be called, such as "--peer-ca-file"; undefined when the proxy is able to work. */
  readonly missingFlag: string | undefined;
  readonly local: ServedSet;
  /** Every other server whose identity lease lives, by ID. */
  readonly peers: readonly PeerView[];
  departed(resource: ResourceQuestion): Departed | undefined;
  /**
   * Custom resources and aggregated group versions, deleted ones for a while included: the local view decides about
   * them, because they live in the shared store. A peer's word counts only for those not seen here yet.
   */
  isJudgedLocally(group: string, version: string, resource: string): boolean;
  /** Whether a peer, as far as its release tells, would do what the local server refuses. Never true in doubt. */
  supports(peer: PeerView, resource: ResourceQuestion, need: CapabilityNeed): boolean;
}

/** What a request asks of a resource beyond its being served, and the local server would refuse. */
export type CapabilityNeed =
  | { readonly kind: "field-selector"; readonly labels: readonly string[] }
  | { readonly kind: "patch-type"; readonly patchType: string }
  | NamedFieldsNeed;

/** Fields of a body that the local server would not refuse but drop. */
export interface NamedFieldsNeed {
  readonly kind: "fields";
  /** What the body is, which is not the resource's kind for some subresources. */
  readonly of: { readonly group: string; readonly version: string; readonly kind: string };
  /** Names of members and positions in lists. */
  readonly paths: readonly (readonly (string | number)[])[];
}

export interface ResourceQuestion {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** "" for the resource itself. */
  readonly subresource: string;
}

/** The view of a server that has no peers and concludes nothing about any. */
export function loneView(self: ClusterView["self"]): ClusterView {
  return {
    self,
    isSynced: true,
    missingFlag: undefined,
    local: { has: () => false, hasVerb: () => false, hasGroupVersion: () => false, hasGroup: () => false },
    peers: [],
    departed: () => undefined,
    isJudgedLocally: () => true,
    supports: () => false,
  };
}

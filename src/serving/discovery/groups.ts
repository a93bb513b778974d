/**
 * The groups that one server serves, in the terms of aggregated discovery. Servers publish their groups to each other
 * in this form, documents are merged in this form, and every other form of discovery is made from it.
 *
 * Names are unique within their list. The code that builds a document sorts resources, subresources and verbs in
 * ascending order, so that a merge can walk two documents side by side.
 */
export interface DiscoveryGroup {
  /** The group name; "" is the core group. */
  readonly name: string;
  /** The preferred version comes first. */
  readonly versions: readonly DiscoveryVersion[];
}

export interface DiscoveryVersion {
  readonly version: string;
  /** "Stale" means that the list of resources may be outdated, because no server that serves them responded. */
  readonly freshness: "Current" | "Stale";
  readonly resources: readonly DiscoveryResource[];
}

export interface DiscoveryKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface DiscoveryResource {
  readonly resource: string;
  /** Empty group and version are those of the enclosing group version. */
  readonly responseKind: DiscoveryKind;
  readonly scope: "Namespaced" | "Cluster";
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly DiscoverySubresource[];
  /** Clients see it only in legacy discovery. Evenkeel servers also send it to each other; kube-apiserver does not. */
  readonly storageVersionHash: string | undefined;
}

export interface DiscoverySubresource {
  readonly subresource: string;
  readonly responseKind: DiscoveryKind;
  readonly verbs: readonly string[];
}

/**
 * The groups that one server serves, in the terms of aggregated discovery. Servers publish them to each other in this
 * form, they are merged in this form, and every other form of discovery is made from it.
 *
 * Names are unique within their list. Resources, subresources and verbs are sorted in ascending order by the code that
 * builds a document, so that a merge can walk documents side by side.
 */
export interface DiscoveryGroup {
  /** "" is the core group. */
  readonly name: string;
  /** Preferred first. */
  readonly versions: readonly DiscoveryVersion[];
}

export interface DiscoveryVersion {
  readonly version: string;
  /** Stale: the resources may be outdated, because their server did not respond. */
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
  /** An empty group and version mean those of the list. */
  readonly responseKind: DiscoveryKind;
  readonly scope: "Namespaced" | "Cluster";
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly DiscoverySubresource[];
  /** Shown by legacy discovery only. Evenkeel servers publish it to each other; kube-apiserver does not. */
  readonly storageVersionHash: string | undefined;
}

export interface DiscoverySubresource {
  readonly subresource: string;
  readonly responseKind: DiscoveryKind;
  readonly verbs: readonly string[];
}

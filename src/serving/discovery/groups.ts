/**
 * What one server serves, as aggregated discovery tells it: the form in which servers know of each other, in which
 * documents are merged, and from which every other form of discovery is made.
 *
 * Names are unique within their list. Resources, subresources and verbs stand in ascending order: whoever makes a
 * document sees to it, so that merging can walk documents side by side.
 */
export interface DiscoveryGroup {
  /** "" is the core group. */
  readonly name: string;
  /** Preferred first. */
  readonly versions: readonly DiscoveryVersion[];
}

export interface DiscoveryVersion {
  readonly version: string;
  /** Stale: the resources may not be what they were, because who serves them did not answer. */
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
  /** Only legacy discovery shows it. Servers tell it to each other; kube-apiserver does not. */
  readonly storageVersionHash: string | undefined;
}

export interface DiscoverySubresource {
  readonly subresource: string;
  readonly responseKind: DiscoveryKind;
  readonly verbs: readonly string[];
}

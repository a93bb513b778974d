/** What a whole cluster of mixed releases serves, and what nobody can say at present: as the composition root tells. */
export interface ClusterResource {
  readonly group: string;
  /** The plural. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Every version some server serves it in, the one to use first. */
  readonly versions: readonly string[];
  /** Of the version to use. */
  readonly verbs: ReadonlySet<string>;
}

/** Something that is missing in what is served, or of which an answer cannot be had. */
export interface Doubt {
  /** Undefined: it may be any group. */
  readonly group: string | undefined;
  /** Undefined: it may be any resource of the group. */
  readonly resource: string | undefined;
  /** Undefined for what is not cluster-scoped or namespaced as far as is known. */
  readonly namespaced: boolean | undefined;
  /** Who is to blame. */
  readonly server: string;
  /** "cannot be reached", "has not said yet what it serves", "left at 2030-01-01T00:00:00Z". */
  readonly because: string;
  /** Nobody serves it now, so that nothing of it can come into being: what the store holds of it is all there is. */
  readonly isDeparted?: true;
}

export interface ClusterResources {
  /** Whether it is one server that is spoken of, which does not look at others: then there are no doubts either. */
  readonly isOneServer: boolean;
  /** By group and resource. The same array until something has changed. */
  served(): readonly ClusterResource[];
  /** Empty: what is served is all there is. */
  doubts(): readonly Doubt[];
  /** Waits until both show every server that had joined when this was called; false when that cannot be known. */
  catchUp(): Promise<boolean>;
  /** Called when one of them says something else. The returned function ends it. */
  onChange(listener: () => void): () => void;
}

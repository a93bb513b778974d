/**
 * The resources that a cluster of mixed releases serves, and the doubts: resources that a server may serve although
 * this one cannot see or request them at present. Provided by the composition root.
 */
export interface ClusterResource {
  readonly group: string;
  /** The plural. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Every version in which a server serves it, the one to use first. */
  readonly versions: readonly string[];
  /** The verbs of the version to use. */
  readonly verbs: ReadonlySet<string>;
}

/** A resource that may be missing in `served`, or that cannot be requested at present. */
export interface Doubt {
  /** Undefined if it may be any group. */
  readonly group: string | undefined;
  /** Undefined if it may be any resource of the group. */
  readonly resource: string | undefined;
  /** Undefined if its scope is unknown. */
  readonly namespaced: boolean | undefined;
  /** The server that causes the doubt. */
  readonly server: string;
  /** "cannot be reached", "has not yet published what it serves", "departed at 2030-01-01T00:00:00Z". */
  readonly because: string;
  /** No server serves it now, so no object of it can be created: the store holds all of them. */
  readonly isDeparted?: true;
}

export interface ClusterResources {
  /**
   * Whether only the local server is considered, because the mixed version proxy is off: then there are no doubts
   * either.
   */
  readonly isOneServer: boolean;
  /** By group and resource. The same array until something has changed. */
  served(): readonly ClusterResource[];
  /** Empty if `served` is complete. */
  doubts(): readonly Doubt[];
  /** Waits until both include every server that had joined when this was called; false if that cannot be determined. */
  catchUp(): Promise<boolean>;
  /** Called when one of them has changed. The returned function removes the listener. */
  onChange(listener: () => void): () => void;
}

/**
 * The port by which controllers see the resources of a cluster of mixed releases: those that some server serves, and
 * doubts about resources that a server may serve although the local server cannot see or request them at present.
 */
export interface ClusterResource {
  readonly group: string;
  /** The plural name. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Every API version in which a server serves it. The first one is the version to use. */
  readonly versions: readonly string[];
  /** The verbs of the first version. */
  readonly verbs: ReadonlySet<string>;
}

/** A resource that may be missing in `served`, or that cannot be requested at present, and the reason. */
export interface Doubt {
  /** Undefined if the doubt is about all groups. */
  readonly group: string | undefined;
  /** Undefined if the doubt is about all resources of the group. */
  readonly resource: string | undefined;
  /** Undefined if the scope is unknown. */
  readonly namespaced: boolean | undefined;
  /** The server that causes the doubt. */
  readonly server: string;
  /**
   * The rest of a sentence that begins with the server: "cannot be reached (connection refused)", "has not yet published
   * what it serves", "departed at 2030-01-01T00:00:00Z".
   */
  readonly because: string;
  /**
   * True if the count of stored objects shows whether a terminating namespace holds objects of the resource. No server
   * serves the resource now, or only servers that create no object in a terminating namespace.
   */
  readonly isCountable?: true;
}

export interface ClusterResources {
  /** Whether the mixed version proxy is off. Then only the local server is considered, and there are no doubts. */
  readonly isOneServer: boolean;
  /** Sorted by group and resource. Returns the same array until the served resources change. */
  served(): readonly ClusterResource[];
  /** Empty if `served` is complete. */
  doubts(): readonly Doubt[];
  /**
   * Waits until `served` and `doubts` include every server that had joined before the call; resolves to false if that
   * cannot be determined.
   */
  catchUp(): Promise<boolean>;
  /** Calls the listener when `served` or `doubts` have changed. The returned function removes the listener. */
  onChange(listener: () => void): () => void;
}

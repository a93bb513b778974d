/** The reasons why the decision about an object is postponed: it is kept for now, and examined again later. */
type WaitReason =
  /** The server that serves the resource does not respond. */
  | "unavailable"
  /** The server that responded does not serve the resource, although discovery lists it. */
  | "not-served"
  /** No known server serves the kind, but another server may. */
  | "doubt"
  /** No server serves the kind, but its objects may still be stored. */
  | "unknown-kind"
  /** Some resources are not watched at present, and may have dependents. */
  | "dependents-unknown"
  /** A server rejected the request. */
  | "refused"
  /** Another client changed the object meanwhile. */
  | "conflict"
  /** The owner exists, but no watch has shown it yet. */
  | "unseen-owner";

export interface Wait {
  readonly kind: "wait";
  readonly reason: WaitReason;
  readonly afterMs: number;
  /** The reason as text for the log. */
  readonly because: string;
}

export function wait(reason: WaitReason, afterMs: number, because: string): Wait {
  return { kind: "wait", reason, afterMs, because };
}

/** The reasons why an object is kept for now. */
type WaitReason =
  /** The server that could decide does not respond. */
  | "unavailable"
  /** The response came from a server that does not serve the resource, despite discovery. */
  | "not-served"
  /** The kind is not served, and whether another server serves it is unknown. */
  | "doubt"
  /** No server serves the kind, which proves nothing about its objects. */
  | "unknown-kind"
  /** Resources that are not watched at present may have dependents. */
  | "dependents-unknown"
  /** The server rejects the request. */
  | "refused"
  /** The object was changed meanwhile. */
  | "conflict"
  /** The owner exists, but no watch has shown it yet. */
  | "unseen-owner";

export interface Wait {
  readonly kind: "wait";
  readonly reason: WaitReason;
  readonly afterMs: number;
  /** For the log. */
  readonly because: string;
}

export function wait(reason: WaitReason, afterMs: number, because: string): Wait {
  return { kind: "wait", reason, afterMs, because };
}

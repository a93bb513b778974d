/** Why something is left as it is for now. */
type WaitReason =
  /** Who could say does not answer. */
  | "unavailable"
  /** The answer came from somebody who does not serve the resource, whatever discovery says. */
  | "not-served"
  /** The kind is not served, but it is not known who else may serve it. */
  | "doubt"
  /** Nobody serves the kind, which proves nothing about its objects. */
  | "unknown-kind"
  /** Dependents may be among what is not followed at present. */
  | "dependents-unknown"
  /** The server does not do it. */
  | "refused"
  /** The object was changed meanwhile. */
  | "conflict"
  /** The owner is there, but no watch has shown it yet. */
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

/**
 * Decides from the states of an object's owners whether the object is kept, deleted, or loses some owner references. A
 * pure function.
 */
import type { DeleteOptions } from "../../../client/objects.ts";
import { FOREGROUND, ORPHAN, type SeenOwner } from "./seen-object.ts";
import type { OwnerState } from "./owner-lookup.ts";
import type { Wait } from "./wait.ts";

export type CollectorDecision =
  | { readonly kind: "keep" }
  | Wait
  /**
   * The object has an existing owner, so it stays. Its references to the owners with these uids are removed, because
   * those are absent or wait for its deletion.
   */
  | { readonly kind: "disown"; readonly uids: ReadonlySet<string> }
  | {
      readonly kind: "delete";
      readonly policy: NonNullable<DeleteOptions["propagationPolicy"]>;
      /**
       * Whether the object must first stop blocking its owners, because an owner may depend on the object in a circle.
       */
      readonly unblocks: boolean;
    };

export interface Circumstances {
  readonly owners: readonly { readonly owner: Pick<SeenOwner, "uid">; readonly state: OwnerState }[];
  readonly finalizers: readonly string[];
  /** Undefined if the graph may lack dependents. */
  readonly hasDependents: boolean | undefined;
  readonly hasDependentInForeground: boolean;
}

const KEEP: CollectorDecision = { kind: "keep" };

export function decideGarbage(circumstances: Circumstances): CollectorDecision {
  const { owners, finalizers, hasDependents, hasDependentInForeground } = circumstances;
  if (owners.length === 0) return KEEP;
  let awaited: Wait | undefined;
  const absentOwners = new Set<string>();
  let isLiving = false;
  let isOwnerInForeground = false;
  for (const { owner, state } of owners) {
    // As kubernetes: an object with an invalid reference is kept.
    if (state.kind === "impossible") return KEEP;
    if (state.kind === "wait") awaited ??= state;
    else if (state.kind === "absent") absentOwners.add(owner.uid);
    else if (state.deletion === "foreground") {
      absentOwners.add(owner.uid);
      isOwnerInForeground = true;
    } else isLiving = true;
  }
  if (awaited !== undefined) return awaited;
  if (isLiving) return absentOwners.size === 0 ? KEEP : { kind: "disown", uids: absentOwners };
  // Foreground deletion continues downwards: the dependents of this object must be gone before it, whatever its own
  // finalizers.
  if (isOwnerInForeground && hasDependents !== false)
    return { kind: "delete", policy: "Foreground", unblocks: hasDependentInForeground };
  return { kind: "delete", policy: policyOf(finalizers), unblocks: false };
}

/** The propagation policy that the finalizers of an object request. */
function policyOf(finalizers: readonly string[]): "Orphan" | "Foreground" | "Background" {
  if (finalizers.includes(ORPHAN)) return "Orphan";
  return finalizers.includes(FOREGROUND) ? "Foreground" : "Background";
}

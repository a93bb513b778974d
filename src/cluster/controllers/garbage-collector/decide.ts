/**
 * Decides from the states of an object's owners whether it is kept, deleted, or only loses some owner references. Pure.
 */
import type { DeleteOptions } from "../../../client/objects.ts";
import { FOREGROUND, ORPHAN, type SeenOwner } from "./seen-object.ts";
import type { OwnerState } from "./owner-lookup.ts";
import type { Wait } from "./wait.ts";

export type CollectorDecision =
  | { readonly kind: "keep" }
  | Wait
  /**
   * It has an existing owner: only its references to the owners with these uids, which are absent or wait for it to be
   * deleted, are removed.
   */
  | { readonly kind: "disown"; readonly uids: ReadonlySet<string> }
  | {
      readonly kind: "delete";
      readonly policy: NonNullable<DeleteOptions["propagationPolicy"]>;
      /** Whether it must stop blocking its owners first: one of them may be waiting for itself. */
      readonly unblocks: boolean;
    };

export interface Circumstances {
  readonly owners: readonly { readonly owner: Pick<SeenOwner, "uid">; readonly state: OwnerState }[];
  readonly finalizers: readonly string[];
  /** Undefined if there may be dependents that were not seen. */
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
  // In the foreground everything below is deleted first, whatever its own finalizers.
  if (isOwnerInForeground && hasDependents !== false)
    return { kind: "delete", policy: "Foreground", unblocks: hasDependentInForeground };
  return { kind: "delete", policy: policyOf(finalizers), unblocks: false };
}

/** The default propagation policy of an object, by its finalizers. */
function policyOf(finalizers: readonly string[]): "Orphan" | "Foreground" | "Background" {
  if (finalizers.includes(ORPHAN)) return "Orphan";
  return finalizers.includes(FOREGROUND) ? "Foreground" : "Background";
}

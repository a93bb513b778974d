/** What becomes of an object, by what became of its owners: pure. */
import type { DeleteOptions } from "../../../client/objects.ts";
import { FOREGROUND, ORPHAN, type SeenOwner } from "./seen-object.ts";
import type { OwnerState } from "./owner-lookup.ts";
import type { Wait } from "./wait.ts";

export type CollectorDecision =
  | { readonly kind: "keep" }
  | Wait
  /** It has owners that live; these it is better off without. */
  | { readonly kind: "disown"; readonly uids: ReadonlySet<string> }
  | {
      readonly kind: "delete";
      readonly policy: NonNullable<DeleteOptions["propagationPolicy"]>;
      /** First it is to stop blocking its owners: one of them may be waiting for itself. */
      readonly unblocks: boolean;
    };

export interface Circumstances {
  readonly owners: readonly { readonly owner: Pick<SeenOwner, "uid">; readonly state: OwnerState }[];
  readonly finalizers: readonly string[];
  /** Undefined: there may be some that nobody has seen. */
  readonly hasDependents: boolean | undefined;
  readonly hasDependentInForeground: boolean;
}

const KEEP: CollectorDecision = { kind: "keep" };

export function decideGarbage(circumstances: Circumstances): CollectorDecision {
  const { owners, finalizers, hasDependents, hasDependentInForeground } = circumstances;
  if (owners.length === 0) return KEEP;
  let awaited: Wait | undefined;
  const goners = new Set<string>();
  let isLiving = false;
  let isOwnerInForeground = false;
  for (const { owner, state } of owners) {
    // As kubernetes: what cannot be understood is left alone.
    if (state.kind === "impossible") return KEEP;
    if (state.kind === "wait") awaited ??= state;
    else if (state.kind === "absent") goners.add(owner.uid);
    else if (state.deletion === "foreground") {
      goners.add(owner.uid);
      isOwnerInForeground = true;
    } else isLiving = true;
  }
  if (awaited !== undefined) return awaited;
  if (isLiving) return goners.size === 0 ? KEEP : { kind: "disown", uids: goners };
  // In the foreground everything below goes first, whatever its own finalizers say.
  if (isOwnerInForeground && hasDependents !== false)
    return { kind: "delete", policy: "Foreground", unblocks: hasDependentInForeground };
  return { kind: "delete", policy: policyOf(finalizers), unblocks: false };
}

/** How an object that nobody tells how to go goes. */
function policyOf(finalizers: readonly string[]): "Orphan" | "Foreground" | "Background" {
  if (finalizers.includes(ORPHAN)) return "Orphan";
  return finalizers.includes(FOREGROUND) ? "Foreground" : "Background";
}

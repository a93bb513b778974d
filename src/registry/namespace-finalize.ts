/** The store has the last word: a namespace is not let go while it holds an object of it, whoever asks. */
import { stringsAt, objectAt, type JsonObject } from "../meta/json.ts";
import { StatusError } from "../meta/status-error.ts";
import type { RegistryContext } from "./context.ts";
import type { Change } from "./guaranteed-update.ts";
import { NAMESPACES } from "./namespace-lifecycle.ts";
import type { Door } from "./prepare.ts";
import type { ServedResource } from "./resource.ts";

/** How many objects of a resource a namespace holds. */
export interface HeldObjects {
  /** "pods", "resourceclaims.resource.k8s.io" */
  readonly resource: string;
  readonly count: number;
}

/** By this name whoever is refused can tell it from a lost race. */
const RULE = "namespace-holds-objects";
const KUBERNETES = "kubernetes";
const NAMED_MAX = 20;

/** Throws a 409 when the change would let go of a namespace that is not empty. */
export async function refuseWhileItHoldsObjects(
  context: RegistryContext,
  { stored }: ServedResource,
  { change, existing, door }: { readonly change: Change; readonly existing: JsonObject; readonly door: Door },
): Promise<void> {
  if (stored.strategy.life !== "namespace" || context.namespaceContent === undefined) return;
  const isLetGo = change.kind === "remove" || (door === "finalize" && isFinalized(change.object, existing));
  if (!isLetGo) return;
  const name = String(objectAt(existing, "metadata")["name"]);
  const held = await context.namespaceContent(name);
  if (held.length > 0) throw stillHolds(name, held);
}

function isFinalized(namespace: JsonObject, existing: JsonObject): boolean {
  const isHeld = (object: JsonObject): boolean =>
    stringsAt(objectAt(object, "spec"), "finalizers").includes(KUBERNETES);
  return isHeld(existing) && !isHeld(namespace);
}

function stillHolds(name: string, held: readonly HeldObjects[]): StatusError {
  const sorted = held.toSorted((a, b) => b.count - a.count || (a.resource < b.resource ? -1 : 1));
  const total = sorted.reduce((sum, { count }) => sum + count, 0);
  const shown = sorted.slice(0, NAMED_MAX);
  const named = shown.map(({ resource, count }) => `${count} ${resource}`).join(", ");
  const hidden = sorted.length - shown.length;
  const what = `${total} ${total === 1 ? "object" : "objects"}: ${named}${hidden === 0 ? "" : ` and more of ${hidden} other resources`}`;
  const { resource } = NAMESPACES;
  return new StatusError(
    "Conflict",
    `Operation cannot be fulfilled on ${resource} ${JSON.stringify(name)}: the namespace still holds ${what}`,
    {
      details: {
        ...{ name, kind: resource },
        causes: [
          { field: "rule", message: RULE },
          ...shown.map(({ resource: field, count }) => ({ field, message: String(count) })),
        ],
      },
    },
  );
}

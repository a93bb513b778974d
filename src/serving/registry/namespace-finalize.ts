/**
 * Rejects the removal of a namespace while the store holds an object of it, whichever client or controller requests it.
 *
 * A namespace is removed in this order, whichever servers perform the steps:
 *
 *   it is terminating at revision R → its objects are counted, linearizably → it is removed if it is still at R
 *
 * A creation commits only if its namespace is still at the revision at which it was seen to be active. At R it is not,
 * so every committed creation was committed before R, and the count includes it. A namespace that has changed since R,
 * or was created again, is not removed. So no object outlives its namespace.
 */
import { assert } from "../../base/assert.ts";
import { stringsAt, objectAt, type JsonObject } from "../../meta/json.ts";
import { StatusError } from "../../meta/status-error.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { RegistryContext } from "./context.ts";
import type { ObjectChange } from "./guaranteed-update.ts";
import { isTerminating, NAMESPACES } from "./namespace-lifecycle.ts";
import type { UpdateEndpoint } from "./prepare.ts";
import { encodeForStorage } from "./representation.ts";
import type { ServedResource } from "./resource.ts";
import { writeEncoded } from "./write-encoded.ts";

/** How many objects of a resource a namespace holds. */
export interface HeldObjects {
  /** "pods", "resourceclaims.resource.k8s.io" */
  readonly resource: string;
  readonly count: number;
}

/** The name of this rule in the response, by which a client can distinguish the rejection from a lost race. */
const RULE = "namespace-holds-objects";
const KUBERNETES = "kubernetes";
const NAMED_MAX = 20;

/** Throws a 409 if the change would remove or finalize a namespace that is not empty. */
export async function rejectRemovalOfNonEmptyNamespace(
  context: RegistryContext,
  { stored }: ServedResource,
  {
    change,
    existing,
    endpoint,
  }: { readonly change: ObjectChange; readonly existing: JsonObject; readonly endpoint: UpdateEndpoint },
): Promise<void> {
  if (stored.strategy.deletionLifecycle !== "namespace" || context.namespaceContent === undefined) return;
  const isReleased = change.kind === "remove" || (endpoint === "finalize" && isFinalized(change.object, existing));
  if (!isReleased) return;
  await rejectIfNotEmpty(context, String(objectAt(existing, "metadata")["name"]));
}

/**
 * Removes the namespace if it is still at the entry's revision. `object` is its final, terminating state. A request
 * that deletes a namespace without finalizers removes it at once. Its content was counted before it was terminating, so
 * it is first marked as terminating and its content is counted again.
 */
export async function removeNamespace(
  context: RegistryContext,
  served: ServedResource,
  { object, entry }: { readonly object: JsonObject; readonly entry: Entry },
): ReturnType<ObjectStore["remove"]> {
  const { store } = context;
  if (isTerminating(entry)) return store.remove(entry);
  const marked = await writeEncoded(served, async (version, guards) => {
    const bytes = await encodeForStorage(object, served, version, { rememberObject: store.rememberObject });
    return store.replace(entry, bytes, undefined, guards);
  });
  if (!marked.committed) return marked;
  assert(isTerminating(marked.entry), "a namespace that is removed is terminating");
  await rejectIfNotEmpty(context, String(objectAt(object, "metadata")["name"]));
  return store.remove(marked.entry);
}

async function rejectIfNotEmpty({ namespaceContent }: RegistryContext, name: string): Promise<void> {
  const held = (await namespaceContent?.(name)) ?? [];
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
        name,
        kind: resource,
        causes: [
          { field: "rule", message: RULE },
          ...shown.map(({ resource: field, count }) => ({ field, message: String(count) })),
        ],
      },
    },
  );
}

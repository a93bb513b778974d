/**
 * Rejects the removal of a namespace while the store holds an object in it, whichever client or controller requests the
 * removal.
 *
 * A namespace is removed in this order, whichever servers perform the steps:
 *
 *   1. the namespace is marked as terminating, at revision R;
 *   2. its objects are counted by a linearizable read;
 *   3. the namespace is removed if it is still at revision R.
 *
 * A creation commits only if its namespace is still at the revision at which the namespace was active. It is not active
 * at R, so every creation that commits does so before R, and the count includes its object. If the namespace has
 * changed since R, or was created again, step 3 fails. So no object outlives its namespace.
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

/** The number of objects of one resource in a namespace. */
export interface HeldObjects {
  /** The resource with its group, such as "pods" or "resourceclaims.resource.k8s.io". */
  readonly resource: string;
  readonly count: number;
}

/**
 * The name of this rule in the details of the response. It tells a client that a retry fails until the namespace is
 * empty.
 */
const RULE = "namespace-holds-objects";
const KUBERNETES = "kubernetes";
const NAMED_MAX = 20;

/** Returns 409 if the change would remove a namespace that is not empty, or remove its finalizer "kubernetes". */
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
 * Removes the namespace if it is still at the revision of the entry. `object` is its last state, which is terminating.
 * If the stored namespace is not yet terminating, because it had no finalizers, it is first marked as terminating and
 * its objects are counted again.
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

/** Returns 409 if the store holds an object in the namespace. */
export async function rejectIfNotEmpty({ namespaceContent }: RegistryContext, name: string): Promise<void> {
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

/**
 * Deletes an object only if it cannot be read, whatever its finalizers are. The value that was found unreadable and the
 * value that is deleted are the same one: if another client writes the object meanwhile, the new value is examined.
 */
import { invalidValue } from "../../meta/field-errors.ts";
import { conflict, invalid, notFound, serviceUnavailable, type StatusError } from "../../meta/status-error.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { RegistryContext } from "./context.ts";
import { withDefaults } from "./defaults.ts";
import { rejectIfNotEmpty } from "./namespace-finalize.ts";
import { conversionOf, objectIn } from "./representation.ts";
import { objectKey, type ServedResource } from "./resource.ts";

interface UnreadableObject {
  readonly namespace: string;
  readonly name: string;
  readonly dryRun: boolean;
}

/** Maximum number of attempts. In each failed attempt another writer was faster. */
const ATTEMPTS_MAX = 100;

export async function deleteUnreadable(
  context: RegistryContext,
  served: ServedResource,
  { namespace, name, dryRun }: UnreadableObject,
): Promise<void> {
  const key = objectKey(served.stored, namespace, name);
  let entry = await context.store.get(key, { kind: "newest" });
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    if (entry === undefined) throw absent(served, name);
    if (await isReadable(context, served, entry)) throw readable(served, name, entry);
    // DIFFERS: kubernetes cannot delete an unreadable namespace at all. It is deleted here if it is empty: no object
    // can be created in it since it became unreadable, so no object outlives it.
    if (served.stored.strategy.deletionLifecycle === "namespace") await rejectIfNotEmpty(context, name);
    if (dryRun) return;
    const result = await context.store.remove(entry);
    if (result.committed) return;
    entry = result.current;
  }
  throw serviceUnavailable("the object changes too fast to be deleted, please try again later", 1);
}

/** As kubernetes: every failure counts, also that of a conversion webhook. */
async function isReadable(context: RegistryContext, served: ServedResource, entry: Entry): Promise<boolean> {
  try {
    if (served.custom !== undefined) await conversionOf([entry], served);
    const object = objectIn(entry, served);
    if (served.custom === undefined) withDefaults(context, served, object);
    return true;
  } catch {
    return false;
  }
}

const READABLE = "is exclusively used to delete corrupt object(s), try again by removing this option";

/** As kubernetes: before UnsafeDeletionConflict, an absent object gets the same error as a readable one. */
function absent(served: ServedResource, name: string): StatusError {
  return served.gates.isOn("UnsafeDeletionConflict") ? notFound(served.groupResource, name) : notCorrupt(served, name);
}

function readable(served: ServedResource, name: string, { key }: Entry): StatusError {
  if (!served.gates.isOn("UnsafeDeletionConflict")) return notCorrupt(served, name);
  return conflict(
    served.groupResource,
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage`,
  );
}

function notCorrupt({ groupResource }: ServedResource, name: string): StatusError {
  const { group, resource } = groupResource;
  const error = invalidValue("ignoreStoreReadErrorWithClusterBreakingPotential", true, READABLE);
  return invalid({ group, kind: resource }, name, [error]);
}

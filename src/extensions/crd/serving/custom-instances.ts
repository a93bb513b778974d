/** Deletes the stored instances of a CRD that is being deleted. */
import { objectAt, stringAt } from "../../../meta/json.ts";
import { isReason } from "../../../meta/status-error.ts";
import type { RegistryContext } from "../../../serving/registry/context.ts";
import { deleteObject } from "../../../serving/registry/delete.ts";
import { list } from "../../../serving/registry/list.ts";
import type { ServedResource } from "../../../serving/registry/resource.ts";
import { parseEntry, type Entry } from "../../../storage/watch-cache/entry.ts";

/**
 * Number of concurrent deletions: enough to share a group commit of the store, and few enough not to delay other
 * writes.
 */
const DELETIONS_AT_ONCE = 16;

/**
 * Deletes all instances. Resolves to the number of remaining instances: those with finalizers, and those that were
 * created meanwhile.
 */
export async function deleteInstances(
  context: RegistryContext,
  served: ServedResource,
  signal: AbortSignal,
): Promise<number> {
  const { entries: found } = await all(context, served);
  const entries = found.filter((entry) => objectAt(parseEntry(entry), "metadata")["deletionTimestamp"] === undefined);
  for (let at = 0; at < entries.length && !signal.aborted; at += DELETIONS_AT_ONCE)
    await Promise.all(entries.slice(at, at + DELETIONS_AT_ONCE).map((entry) => deleteInstance(context, served, entry)));
  return entries.length === 0 ? found.length : (await all(context, served)).entries.length;
}

function all(context: RegistryContext, served: ServedResource): ReturnType<typeof list> {
  return list(context, served, { namespace: "", labels: undefined, fields: [], state: { kind: "newest" }, limit: 0 });
}

/**
 * Deletes one instance. It is no error if the instance is already deleted. An instance that was created meanwhile under
 * the same name is kept, because it may belong to a new CRD.
 */
async function deleteInstance(context: RegistryContext, served: ServedResource, entry: Entry): Promise<void> {
  const path = entry.key.slice(served.stored.keyPrefix.length);
  const slash = path.lastIndexOf("/");
  const namespace = slash < 0 ? "" : path.slice(0, slash);
  const preconditions = { uid: stringAt(objectAt(parseEntry(entry), "metadata"), "uid") };
  const options = { dryRun: false, preconditions };
  try {
    await deleteObject(context, served, { namespace, name: path.slice(slash + 1), options });
  } catch (thrown) {
    if (!isReason(thrown, "NotFound") && !isReason(thrown, "Conflict")) throw thrown;
  }
}

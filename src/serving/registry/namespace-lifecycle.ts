/** Rejects creations in namespaces that do not exist or are terminating. */
import type { GroupResource } from "../../meta/group-version.ts";
import { objectAt, stringAt } from "../../meta/json.ts";
import { forbidden, notFound } from "../../meta/status-error.ts";
import type { Guard } from "../../storage/kv.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import type { RegistryContext } from "./context.ts";
import { rejectCorrupt } from "./storage-errors.ts";

export const NAMESPACES: GroupResource = { group: "", resource: "namespaces" };

/** Namespaces that every cluster needs and that cannot be deleted. */
const REQUIRED_NAMESPACES: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);

export interface CreationPlace {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Rejects a creation if its namespace does not exist or is terminating. Returns a guard on the revision of the
 * namespace, because the cache of this server may lag behind a deletion. The guard is undefined for a namespace that
 * will be stored together with its content.
 */
export async function rejectCreationOutsideLiveNamespace(
  context: RegistryContext,
  resource: GroupResource,
  at: CreationPlace,
): Promise<Guard | undefined> {
  if (context.namespacePrefix === undefined) return undefined;
  const key = context.namespacePrefix + at.namespace;
  // An absent namespace is read from the store, so that a namespace that was just created is found.
  const entry = context.store.cache.get(key) ?? (await context.store.get(key, { kind: "newest" }));
  return rejectUnlessLive(entry, resource, at);
}

/** As above, but reads the namespace from the store, for a creation whose guard did not hold. */
export async function rejectCreationOutsideNewestNamespace(
  context: RegistryContext,
  resource: GroupResource,
  at: CreationPlace,
): Promise<Guard | undefined> {
  if (context.namespacePrefix === undefined) return undefined;
  const entry = await context.store.get(context.namespacePrefix + at.namespace, { kind: "newest" });
  return rejectUnlessLive(entry, resource, at);
}

function rejectUnlessLive(entry: Entry | undefined, resource: GroupResource, at: CreationPlace): Guard | undefined {
  if (entry === undefined) throw notFound(NAMESPACES, at.namespace);
  rejectCorrupt(entry);
  if (!isTerminating(entry)) return isStored(entry) ? { key: entry.key, revision: entry.modRevision } : undefined;
  throw forbidden(
    resource,
    at.name,
    `unable to create new content in namespace ${at.namespace} because it is being terminated`,
    [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${at.namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  );
}

function isStored({ modRevision }: Entry): boolean {
  return modRevision > 0;
}

export function rejectDeletionOfRequiredNamespace(name: string): void {
  if (REQUIRED_NAMESPACES.has(name)) throw forbidden(NAMESPACES, name, "this namespace may not be deleted");
}

/** True if creations in the namespace are rejected. */
export function isTerminating(namespace: Entry): boolean {
  const known = namespace.memo.get("terminating");
  if (typeof known === "boolean") return known;
  const object = parseEntry(namespace);
  const terminating =
    stringAt(objectAt(object, "status"), "phase") === "Terminating" ||
    objectAt(object, "metadata")["deletionTimestamp"] !== undefined;
  namespace.memo.set("terminating", terminating);
  return terminating;
}

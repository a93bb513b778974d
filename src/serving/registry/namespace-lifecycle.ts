/** Nothing is created where there is no namespace, or in one that is on its way out. */
import type { GroupResource } from "../../meta/group-version.ts";
import { objectAt, stringAt } from "../../meta/json.ts";
import { forbidden, notFound } from "../../meta/status-error.ts";
import type { Guard } from "../../storage/kv.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import type { RegistryContext } from "./context.ts";
import { refuseCorrupt } from "./storage-errors.ts";

export const NAMESPACES: GroupResource = { group: "", resource: "namespaces" };

/** Without these no cluster works. */
const IMMORTAL: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);

export interface CreationPlace {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Returns the guard that holds as long as the namespace is the one that was looked at: this server may not have heard
 * yet that it is gone. Undefined for a namespace that is not stored yet, but will be together with what is in it.
 */
export async function refuseCreationOutsideLiveNamespace(
  context: RegistryContext,
  resource: GroupResource,
  at: CreationPlace,
): Promise<Guard | undefined> {
  if (context.namespacePrefix === undefined) return undefined;
  const key = context.namespacePrefix + at.namespace;
  // A namespace somebody has just made must count at once, so an absent one is looked up again, freshly.
  const entry = context.store.cache.get(key) ?? (await context.store.get(key, { kind: "newest" }));
  return refuseUnlessLive(entry, resource, at);
}

/** The same by what the store has now: for a creation whose guard was lost. */
export async function refuseCreationOutsideNewestNamespace(
  context: RegistryContext,
  resource: GroupResource,
  at: CreationPlace,
): Promise<Guard | undefined> {
  if (context.namespacePrefix === undefined) return undefined;
  const entry = await context.store.get(context.namespacePrefix + at.namespace, { kind: "newest" });
  return refuseUnlessLive(entry, resource, at);
}

function refuseUnlessLive(entry: Entry | undefined, resource: GroupResource, at: CreationPlace): Guard | undefined {
  if (entry === undefined) throw notFound(NAMESPACES, at.namespace);
  refuseCorrupt(entry);
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

export function refuseDeletionOfImmortal(name: string): void {
  if (IMMORTAL.has(name)) throw forbidden(NAMESPACES, name, "this namespace may not be deleted");
}

/** Nothing is created in it any more. */
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

/** Nothing is created where there is no namespace, or in one that is on its way out. */
import type { GroupResource } from "../meta/group-version.ts";
import { objectAt, stringAt } from "../meta/json.ts";
import { forbidden, notFound } from "../meta/status-error.ts";
import { parseEntry, type Entry } from "../storage/watch-cache/entry.ts";
import type { RegistryContext } from "./context.ts";
import { refuseCorrupt } from "./storage-errors.ts";

export const NAMESPACES: GroupResource = { group: "", resource: "namespaces" };

/** Without these no cluster works. */
const IMMORTAL: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);

export async function refuseCreationOutsideLiveNamespace(
  context: RegistryContext,
  resource: GroupResource,
  at: { namespace: string; name: string },
): Promise<void> {
  const key = context.namespacePrefix + at.namespace;
  // A namespace somebody has just made must count at once, so an absent one is looked up again, freshly.
  const entry = context.store.cache.get(key) ?? (await context.store.get(key, { kind: "newest" }));
  if (entry === undefined) throw notFound(NAMESPACES, at.namespace);
  refuseCorrupt(entry);
  if (!isTerminating(entry)) return;
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

export function refuseDeletionOfImmortal(name: string): void {
  if (IMMORTAL.has(name)) throw forbidden(NAMESPACES, name, "this namespace may not be deleted");
}

function isTerminating(namespace: Entry): boolean {
  const known = namespace.memo.get("terminating");
  if (typeof known === "boolean") return known;
  const object = parseEntry(namespace);
  const terminating =
    stringAt(objectAt(object, "status"), "phase") === "Terminating" ||
    objectAt(object, "metadata")["deletionTimestamp"] !== undefined;
  namespace.memo.set("terminating", terminating);
  return terminating;
}

/** Removes duplicate owner references from a body, as kube-apiserver does. */
import { isJsonObject, objectAt, type JsonObject } from "../../meta/json.ts";

interface UniqueOwners {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
}

/** Removes duplicate owner references, and returns a warning about them. */
export function withUniqueOwners(object: JsonObject): UniqueOwners {
  const references = objectAt(object, "metadata")["ownerReferences"];
  if (!Array.isArray(references) || references.length < 2) return { object, warnings: [] };
  const seen = new Set<string>();
  const repeated = new Set<string>();
  const unique = references.filter(isJsonObject).filter((reference) => {
    const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = reference;
    const key = JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
    const isNew = !seen.has(key);
    seen.add(key);
    if (!isNew) repeated.add(String(uid));
    return isNew;
  });
  if (repeated.size === 0) return { object, warnings: [] };
  const warning = `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...repeated].join(", ")}`;
  return {
    object: { ...object, metadata: { ...objectAt(object, "metadata"), ownerReferences: unique } },
    warnings: [warning],
  };
}

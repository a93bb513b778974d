/** How StorageVersion and StorageVersionMigration objects are shaped before they are stored. */
import type { GroupResource } from "../../meta/group-version.ts";
import { objectAt, type JsonObject } from "../../meta/json.ts";

const RESOURCES: ReadonlySet<string> = new Set([
  "internal.apiserver.k8s.io/storageversions",
  "storagemigration.k8s.io/storageversionmigrations",
]);
const LEFT_ALONE_BY_STATUS: readonly string[] = ["labels", "annotations", "finalizers", "ownerReferences"];

export function isAboutStorageVersions({ group, resource }: GroupResource): boolean {
  return RESOURCES.has(`${group}/${resource}`);
}

/** As kubernetes ResetObjectMetaForStatus: whoever writes a status says nothing about the object itself. */
export function withMetadataLeftAlone(object: JsonObject, existing: JsonObject): JsonObject {
  const metadata = { ...objectAt(object, "metadata") };
  const before = objectAt(existing, "metadata");
  for (const field of LEFT_ALONE_BY_STATUS) {
    if (before[field] === undefined) delete metadata[field];
    else metadata[field] = before[field];
  }
  return { ...object, metadata };
}

/** Both parts are there even when they say nothing. */
export function withSpecAndStatus(object: JsonObject): JsonObject {
  return { ...object, spec: objectAt(object, "spec"), status: objectAt(object, "status") };
}

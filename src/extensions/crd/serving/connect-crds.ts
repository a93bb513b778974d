/** Reacts to changes of a CRD: publishes its storage version, and ends the watches that still use the previous spec. */
import { jsonEquals } from "../../../meta/json.ts";
import type { StorageVersions } from "../../../cluster/storageversion/create-storage-versions.ts";
import type { OpenWatches } from "../../../serving/endpoints/watch-stream.ts";
import { crdKey } from "../crd.ts";
import type { CrdTable } from "../crd-table.ts";
import { storedVersionsOf } from "./custom-stored-versions.ts";

/**
 * Publishes the stored versions of each CRD whenever they change, so that this server writes a custom resource only in
 * a version that it has published.
 */
export function publishStorageVersions(table: CrdTable, storageVersions: StorageVersions): void {
  table.onChange(({ before, after }) => {
    const was = before && storedVersionsOf(before);
    const is = after && storedVersionsOf(after);
    if (was !== undefined && was.name !== is?.name) storageVersions.remove(was.name);
    if (is !== undefined && !jsonEquals(was, is)) storageVersions.put(is);
  });
}

/**
 * Ends the watches that use the previous spec of a CRD. A client that resumes its watch receives objects of the new
 * spec.
 */
export function endOutdatedWatches(table: CrdTable, open: OpenWatches): void {
  table.onChange(({ before, after }) => {
    if (before === undefined || crdKey(before) === (after && crdKey(after))) return;
    for (const watch of [...open]) if (watch.definitionKey === crdKey(before)) watch.leave();
  });
}

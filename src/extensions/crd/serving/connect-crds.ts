/** Reacts to a change of a CRD: publishes its storage version, and ends the watches of its outdated form. */
import { jsonEquals } from "../../../meta/json.ts";
import type { StorageVersions } from "../../../cluster/storageversion/create-storage-versions.ts";
import type { OpenWatches } from "../../../serving/endpoints/watch-stream.ts";
import { crdKey } from "../crd.ts";
import type { CrdTable } from "../crd-table.ts";
import { storedVersionsOf } from "./custom-stored-versions.ts";

/** Makes servers publish the version of a custom resource before they write it. */
export function publishStorageVersions(table: CrdTable, storageVersions: StorageVersions): void {
  table.onChange(({ before, after }) => {
    const was = before && storedVersionsOf(before);
    const is = after && storedVersionsOf(after);
    if (was !== undefined && was.name !== is?.name) storageVersions.remove(was.name);
    if (is !== undefined && !jsonEquals(was, is)) storageVersions.put(is);
  });
}

/**
 * Ends watches of an outdated CRD: their objects have the old shape, and a client that resumes receives the new one.
 */
export function endOutdatedWatches(table: CrdTable, open: OpenWatches): void {
  table.onChange(({ before, after }) => {
    if (before === undefined || crdKey(before) === (after && crdKey(after))) return;
    for (const watch of [...open]) if (watch.definitionKey === crdKey(before)) watch.leave();
  });
}

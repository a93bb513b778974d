/**
 * Finds objects that a server wrote in a version that it had not published, or that another server could not decode
 * according to its StorageVersion entry.
 */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../src/meta/json.ts";
import type { Commit } from "../../src/tools/simulator/history.ts";
import type { ServerStorageVersion } from "../../src/cluster/storageversion/objects.ts";

export interface UnagreedWrites {
  readonly problems: readonly string[];
  readonly writes: number;
  readonly versions: number;
}

/** Checks every write of the resource. The field spec.writer of each object names the server that created it. */
export function unagreedWrites(
  commits: readonly Commit[],
  { prefix, name }: { readonly prefix: string; readonly name: string },
): UnagreedWrites {
  const problems: string[] = [];
  const versions = new Set<string>();
  let entries: readonly ServerStorageVersion[] = [];
  let writes = 0;
  for (const { key, before, after: object, revision } of commits) {
    if (key === `storageversions/${name}`) entries = entriesOf(object);
    if (!key.startsWith(prefix) || object === undefined) continue;
    writes++;
    const version = stringAt(object, "apiVersion");
    versions.add(version);
    const writer = stringAt(objectAt(object, "spec"), "writer");
    const own = entries.find(({ apiServerID }) => apiServerID.endsWith(writer));
    // The entry of the writer is checked only for creations, because an update by another server, such as a migration,
    // does not change spec.writer.
    if (before === undefined && own?.encodingVersion !== version)
      problems.push(`revision ${revision}: ${writer} wrote ${version}, but had published ${own?.encodingVersion}`);
    for (const { apiServerID, decodableVersions } of entries)
      if (!decodableVersions.includes(version))
        problems.push(`revision ${revision}: ${writer} wrote ${version}, which ${apiServerID} cannot decode`);
  }
  return { problems, writes, versions: versions.size };
}

function entriesOf(object: JsonObject | undefined): readonly ServerStorageVersion[] {
  const { storageVersions } = object === undefined ? {} : objectAt(object, "status");
  return Array.isArray(storageVersions) && storageVersions.every(isJsonObject)
    ? (storageVersions as unknown as ServerStorageVersion[])
    : [];
}

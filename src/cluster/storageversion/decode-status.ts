/** The status of a StorageVersion object as the store holds it: whoever wrote it, members of the wrong type are left out. */
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import type { ServerStorageVersion, StorageVersionStatus } from "./objects.ts";

export function decodeStatus(object: JsonObject): StorageVersionStatus {
  const listed = objectAt(object, "status")["storageVersions"];
  const entries = Array.isArray(listed) ? (listed as unknown[]).filter(isJsonObject).map(toEntry) : [];
  const common = stringAt(objectAt(object, "status"), "commonEncodingVersion");
  return { storageVersions: entries, ...(common === "" ? {} : { commonEncodingVersion: common }) };
}

function toEntry(entry: JsonObject): ServerStorageVersion {
  return {
    apiServerID: stringAt(entry, "apiServerID"),
    encodingVersion: stringAt(entry, "encodingVersion"),
    decodableVersions: stringsAt(entry, "decodableVersions"),
    servedVersions: stringsAt(entry, "servedVersions"),
  };
}

/**
 * Decodes the status of a stored StorageVersion object. Fields of a wrong type are dropped, because any client may have
 * written the object.
 */
import { objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import type { ServerStorageVersion, StorageVersionStatus } from "./objects.ts";

export function decodeStatus(object: JsonObject): StorageVersionStatus {
  const status = objectAt(object, "status");
  const entries = objectsAt(status, "storageVersions").map(toEntry);
  const common = stringAt(status, "commonEncodingVersion");
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

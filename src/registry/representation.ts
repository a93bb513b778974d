/** A stored entry as bytes of the version somebody asked for, derived at most once per entry and version. */
import { parseGroupVersion } from "../meta/group-version.ts";
import type { JsonObject } from "../meta/json.ts";
import { convertObject, isSameShape } from "../object/conversion/convert.ts";
import { encodeItem, parseEntry, type Entry } from "../storage/watch-cache/entry.ts";
import type { ServedResource } from "./resource.ts";
import { refuseCorrupt } from "./storage-errors.ts";

/** The list item: `,{"metadata":…}` without kind and apiVersion. */
export function itemIn(entry: Entry, served: ServedResource): Buffer {
  if (entry.apiVersion === served.apiVersion) return entry.item;
  const memoKey = `item ${served.apiVersion}`;
  const known = entry.memo.get(memoKey) as Buffer | undefined;
  if (known !== undefined) return known;
  const item = hasSameShape(entry, served) ? entry.item : encodeItem(objectIn(entry, served));
  entry.memo.set(memoKey, item);
  return item;
}

/** The object's members behind a head `{"kind":…,"apiVersion":…,`. */
export function membersIn(entry: Entry, served: ServedResource): Buffer {
  return itemIn(entry, served).subarray(2);
}

/** The object, parsed: the caller owns it. */
export function objectIn(entry: Entry, served: ServedResource): JsonObject {
  refuseCorrupt(entry);
  const object = parseEntry(entry);
  if (entry.apiVersion === served.apiVersion) return object;
  return convertObject(object, parseGroupVersion(entry.apiVersion), served.groupVersion);
}

function hasSameShape(entry: Entry, served: ServedResource): boolean {
  return isSameShape(entry.kind, parseGroupVersion(entry.apiVersion), served.groupVersion);
}

const METADATA_ORDER = [
  "name",
  "generateName",
  "namespace",
  "uid",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "ownerReferences",
  "finalizers",
  "managedFields",
];

/** Canonical bytes for the store: kind, apiVersion, metadata first, no resourceVersion. */
export function encodeForStorage(object: JsonObject, served: ServedResource): Buffer {
  const { storageVersion } = served.stored;
  const converted = convertObject(object, served.groupVersion, storageVersion);
  const { kind, apiVersion, metadata, ...rest } = converted;
  return Buffer.from(JSON.stringify({ kind, apiVersion, metadata: canonicalMetadata(metadata as JsonObject), ...rest }));
}

export function canonicalMetadata(metadata: JsonObject): JsonObject {
  const ordered: JsonObject = {};
  for (const key of METADATA_ORDER) if (metadata[key] !== undefined) ordered[key] = metadata[key];
  for (const key of Object.keys(metadata)) {
    if (!(key in ordered) && key !== "resourceVersion" && key !== "selfLink") ordered[key] = metadata[key];
  }
  return ordered;
}

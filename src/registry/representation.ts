/** A stored entry as bytes of the version somebody asked for, derived at most once per entry and version. */
import { parseGroupVersion, type GroupVersion } from "../meta/group-version.ts";
import type { JsonObject } from "../meta/json.ts";
import { convertObject, isConvertible, isSameShape } from "../object/conversion/convert.ts";
import type { ObjectStore } from "../storage/object-store.ts";
import { encodeItem, parseEntry, type Entry } from "../storage/watch-cache/entry.ts";
import type { ServedResource } from "./resource.ts";
import { refuseCorrupt, unreadable } from "./storage-errors.ts";

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
  refuseUnreadable(entry, served);
  const object = parseEntry(entry);
  if (entry.apiVersion === served.apiVersion) return object;
  try {
    return convertObject(object, parseGroupVersion(entry.apiVersion), served.groupVersion);
  } catch (thrown) {
    throw unreadable(entry, `the value does not have the shape of a ${entry.kind} in ${entry.apiVersion}`, thrown);
  }
}

/** Throws for an object that cannot be shown here: broken, of another kind, or of a version this release does not know. */
export function refuseUnreadable(entry: Entry, served: ServedResource): void {
  refuseCorrupt(entry);
  if (entry.kind !== served.kind) throw unreadable(entry, `the value is a ${entry.kind}, not a ${served.kind}`);
  if (
    entry.apiVersion === served.apiVersion ||
    isConvertible(entry.kind, parseGroupVersion(entry.apiVersion), served.groupVersion)
  )
    return;
  throw unreadable(
    entry,
    `the value is of the version ${entry.apiVersion}, which cannot be shown as ${served.apiVersion}`,
  );
}

function hasSameShape(entry: Entry, served: ServedResource): boolean {
  return isSameShape(entry.kind, parseGroupVersion(entry.apiVersion), served.groupVersion);
}

/** The object in the version it is stored in. */
export function storedObject(entry: Entry): JsonObject {
  return parseEntry(entry);
}

/** An object of the served version in the shape it is or would be stored in. */
export function storedShape(object: JsonObject, served: ServedResource): JsonObject {
  return convertObject(object, served.groupVersion, served.stored.storageVersion);
}

const METADATA_ORDER: readonly string[] = [
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

export interface EncodeOptions {
  readonly vouch?: ObjectStore["vouch"];
  /** The text of a new object's managedFields, which then has none itself. */
  readonly managedFields?: string | undefined;
}

/** Canonical bytes for the store: kind, apiVersion, metadata first, no resourceVersion. */
export function encodeForStorage(
  object: JsonObject,
  served: ServedResource,
  version: GroupVersion,
  { vouch, managedFields }: EncodeOptions = {},
): Buffer {
  const converted = convertObject(object, served.groupVersion, version);
  const { kind, apiVersion, metadata, ...rest } = converted;
  const head = { kind, apiVersion, metadata: canonicalMetadata(metadata as JsonObject) };
  const canonical = { ...head, ...rest };
  const text =
    managedFields === undefined
      ? JSON.stringify(canonical)
      : spliceManagedFields(JSON.stringify(head), JSON.stringify(rest), managedFields);
  const bytes = Buffer.from(text);
  vouch?.(bytes, canonical);
  return bytes;
}

/** The head ends in its metadata, which has at least a uid. */
function spliceManagedFields(head: string, rest: string, managedFields: string): string {
  const start = `${head.slice(0, -2)},"managedFields":${managedFields}}`;
  return rest === "{}" ? `${start}}` : `${start},${rest.slice(1)}`;
}

export function canonicalMetadata(metadata: JsonObject): JsonObject {
  const ordered: JsonObject = {};
  for (const key of METADATA_ORDER) if (metadata[key] !== undefined) ordered[key] = metadata[key];
  for (const key of Object.keys(metadata)) {
    if (!(key in ordered) && key !== "resourceVersion" && key !== "selfLink") ordered[key] = metadata[key];
  }
  return ordered;
}

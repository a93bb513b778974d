/** Converts a stored entry to the bytes or the object of a served version, at most once per entry and version. */
import { formatGroupVersion, parseGroupVersion, type GroupVersion } from "../../meta/group-version.ts";
import { cloneJson, type JsonObject } from "../../meta/json.ts";
import { convertObject, isConvertible, isSameShape } from "../../objects/conversion/convert.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import { encodeItem, parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import type { CustomShape, ServedResource } from "./resource.ts";
import { unreadable } from "./storage-errors.ts";

/** The object as a list item of a built-in kind: `,{"metadata":…}` without kind and apiVersion. */
export function itemIn(entry: Entry, served: ServedResource): Buffer {
  if (entry.apiVersion === served.apiVersion) return entry.item;
  const memoKey = `item ${served.apiVersion}`;
  const known = entry.memo.get(memoKey) as Buffer | undefined;
  if (known !== undefined) return known;
  const item = hasSameShape(entry, served) ? entry.item : encodeItem(objectIn(entry, served));
  entry.memo.set(memoKey, item);
  return item;
}

/** The encoded fields of the object, which follow `{"kind":…,"apiVersion":…,` in a response. */
export function membersIn(entry: Entry, served: ServedResource): Buffer {
  return served.custom === undefined
    ? itemIn(entry, served).subarray(MEMBERS_START)
    : customMembers(entry, served, served.custom);
}

/** The parsed object, which the caller may change. */
export function objectIn(entry: Entry, served: ServedResource): JsonObject {
  rejectUnreadable(entry, served);
  if (served.custom !== undefined) return customObject(entry, served, served.custom).object;
  const object = parseEntry(entry);
  if (entry.apiVersion === served.apiVersion) return object;
  try {
    return convertObject(object, parseGroupVersion(entry.apiVersion), served.groupVersion);
  } catch (thrown) {
    throw unreadable(entry, `the value does not have the shape of a ${entry.kind} in ${entry.apiVersion}`, thrown);
  }
}

/**
 * Throws if the object cannot be returned: its value is corrupt, of another kind, or of a version that this release
 * does not know.
 */
export function rejectUnreadable(entry: Entry, served: ServedResource): void {
  const why = whyUnreadable(entry, served);
  if (why !== undefined) throw unreadable(entry, why);
}

/** Why the object cannot be returned; undefined if it can. */
export function whyUnreadable(entry: Entry, served: ServedResource): string | undefined {
  if (entry.corrupt !== undefined) return entry.corrupt;
  if (entry.kind !== served.kind) return `the value is a ${entry.kind}, not a ${served.kind}`;
  if (entry.apiVersion === served.apiVersion) return undefined;
  const isShowable =
    served.custom === undefined
      ? isConvertible(entry.kind, parseGroupVersion(entry.apiVersion), served.groupVersion)
      : served.custom.isKnown(entry.apiVersion);
  if (isShowable) return undefined;
  return `the value is of the version ${entry.apiVersion}, which cannot be converted to ${served.apiVersion}`;
}

function hasSameShape(entry: Entry, served: ServedResource): boolean {
  return isSameShape(entry.kind, parseGroupVersion(entry.apiVersion), served.groupVersion);
}

/** The length of the comma and the brace with which a list item begins. */
const MEMBERS_START = 2;

function customMembers(entry: Entry, served: ServedResource, custom: CustomShape): Buffer {
  const known = entry.memo.get(custom.membersKey) as Buffer | undefined;
  if (known !== undefined) return known;
  const { object, isAsStored } = customObject(entry, served, custom);
  const members = (isAsStored ? entry.item : encodeItem(object)).subarray(MEMBERS_START);
  entry.memo.set(custom.membersKey, members);
  return members;
}

function customObject(
  entry: Entry,
  { apiVersion }: ServedResource,
  custom: CustomShape,
): { readonly object: JsonObject; readonly isAsStored: boolean } {
  if (entry.apiVersion === apiVersion) {
    const object = parseEntry(entry);
    return { object, isAsStored: !custom.finish(object) };
  }
  const object = isToBeConverted(entry, apiVersion, custom)
    ? convertedObject(entry, apiVersion, custom)
    : { ...finished(entry, custom), apiVersion };
  custom.prune(object);
  return { object, isAsStored: false };
}

function finished(entry: Entry, custom: CustomShape): JsonObject {
  const object = parseEntry(entry);
  custom.finish(object);
  return object;
}

function isToBeConverted(entry: Entry, apiVersion: string, custom: CustomShape): boolean {
  return custom.convert !== undefined && entry.apiVersion !== apiVersion;
}

function convertedKey(apiVersion: string, { key }: CustomShape): string {
  return `converted ${apiVersion} ${key}`;
}

function convertedObject(entry: Entry, apiVersion: string, custom: CustomShape): JsonObject {
  const text = entry.memo.get(convertedKey(apiVersion, custom)) as string | undefined;
  if (text === undefined) throw unreadable(entry, `it has not been converted to ${apiVersion}`);
  return JSON.parse(text) as JsonObject;
}

/**
 * Starts the webhook conversions that must finish before the entries can be returned. Returns undefined if none is
 * needed. Rejects with a StatusError.
 */
export function conversionOf(entries: readonly Entry[], served: ServedResource): Promise<void> | undefined {
  const { custom, apiVersion, groupVersion } = served;
  if (custom?.convert === undefined) return undefined;
  const memoKey = convertedKey(apiVersion, custom);
  const due = entries.filter(
    (entry) => entry.corrupt === undefined && isToBeConverted(entry, apiVersion, custom) && !entry.memo.has(memoKey),
  );
  if (due.length === 0) return undefined;
  const stored = due.map((entry) => finished(entry, custom));
  return custom.convert(stored, groupVersion).then((objects) => {
    for (const [index, entry] of due.entries()) entry.memo.set(memoKey, JSON.stringify(objects[index]));
  });
}

/** The object in the version from which its Table columns are read. */
export function columnsObject(entry: Entry, served: ServedResource): JsonObject {
  return served.custom === undefined ? parseEntry(entry) : objectIn(entry, served);
}

/** As `columnsObject`, for an object in the served version that is not stored. */
export function columnsShape(object: JsonObject, served: ServedResource): JsonObject {
  if (served.custom !== undefined) return object;
  return convertObject(object, served.groupVersion, served.stored.storageVersion);
}

/** Converts an object from the served version to the version in which it is stored. Throws a StatusError. */
function toVersion(
  object: JsonObject,
  served: ServedResource,
  version: GroupVersion,
): JsonObject | Promise<JsonObject> {
  if (served.custom === undefined) return convertObject(object, served.groupVersion, version);
  const apiVersion = formatGroupVersion(version);
  const { custom } = served;
  if (apiVersion === served.apiVersion) return { ...object, apiVersion };
  if (custom.convert === undefined) return pruned({ ...cloneJson(object), apiVersion }, custom);
  return custom.convert([object], version).then(([converted]) => pruned(converted!, custom));
}

function pruned(object: JsonObject, custom: CustomShape): JsonObject {
  custom.prune(object);
  return object;
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

interface EncodeOptions {
  readonly rememberObject?: ObjectStore["rememberObject"];
  /** The managedFields of a new object as JSON text. The object itself has none. */
  readonly managedFields?: string | undefined;
}

/**
 * Encodes an object for the store: kind, apiVersion and metadata come first, and resourceVersion is omitted. Throws a
 * StatusError.
 */
export async function encodeForStorage(
  object: JsonObject,
  served: ServedResource,
  version: GroupVersion,
  options: EncodeOptions = {},
): Promise<Buffer> {
  const converted = await toVersion(object, served, version);
  // The defaults of the stored version may be others, so the watch cache must read these bytes as those of another server.
  const isComplete = served.custom !== undefined || formatGroupVersion(version) === served.apiVersion;
  return encodeConverted(converted, isComplete ? options : { managedFields: options.managedFields });
}

function encodeConverted(object: JsonObject, { rememberObject, managedFields }: EncodeOptions): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object;
  const head = { kind, apiVersion, metadata: canonicalMetadata(metadata as JsonObject) };
  const canonical = { ...head, ...rest };
  const text =
    managedFields === undefined
      ? JSON.stringify(canonical)
      : spliceManagedFields(JSON.stringify(head), JSON.stringify(rest), managedFields);
  const bytes = Buffer.from(text);
  rememberObject?.(bytes, canonical);
  return bytes;
}

/** Inserts the managedFields at the end of the metadata, which is the last field of `head` and not empty. */
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

/** Finds the stored entries that the selectors of a list or watch select. */
import { type FieldRequirement, requiredValue } from "../../meta/field-selector.ts";
import type { LabelSelector } from "../../meta/label-selector.ts";
import { prefixEnd } from "../../storage/kv.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import type { KeyRange } from "../../storage/object-store.ts";
import { fieldValue } from "./field-values.ts";
import { objectIn } from "./representation.ts";
import { collectionPrefix, objectKey, type CustomShape, type ServedResource } from "./resource.ts";

export interface SelectionRequest {
  readonly namespace: string;
  readonly labels: LabelSelector | undefined;
  readonly fields: readonly FieldRequirement[];
}

export interface Selection {
  /** The key prefix of the list, or the key of one object if the selectors require its name and namespace. */
  readonly prefix: string;
  readonly range: KeyRange;
  /** Undefined if all entries of the range are selected. */
  readonly matches: ((entry: Entry) => boolean) | undefined;
  /** True if `matches` reads fields of objects in the served version, so that the objects must be converted first. */
  readonly readsFields: boolean;
}

export function select(served: ServedResource, request: SelectionRequest): Selection {
  const { stored } = served;
  const pinnedNamespace = stored.namespaced ? requiredValue(request.fields, "metadata.namespace") : undefined;
  const namespace = request.namespace === "" ? (pinnedNamespace ?? "") : request.namespace;
  const name = requiredValue(request.fields, "metadata.name");
  const isOneObject =
    name !== undefined &&
    name !== "" &&
    (!stored.namespaced || namespace !== "") &&
    !name.includes("/") &&
    !namespace.includes("/");
  const collection = collectionPrefix(stored, namespace.includes("/") ? request.namespace : namespace);
  const prefix = isOneObject ? objectKey(stored, namespace, name) : collection;
  const range = isOneObject ? { start: prefix, end: `${prefix}\u0000` } : { start: prefix, end: prefixEnd(prefix) };
  const readsFields = request.fields.some(({ field }) => !KEY_FIELDS.has(field));
  return { prefix, range, matches: matcher(served, request), readsFields };
}

/** Fields that can be read from the key. */
const KEY_FIELDS: ReadonlySet<string> = new Set(["metadata.name", "metadata.namespace"]);

function matcher(served: ServedResource, request: SelectionRequest): ((entry: Entry) => boolean) | undefined {
  const { labels, fields } = request;
  if (labels === undefined && fields.length === 0) return undefined;
  const { group, resource } = served.groupResource;
  const readers = fields.map(({ field, value, negated }) => ({
    read: fieldReader(served, group, resource, field),
    value,
    negated,
  }));
  return (entry) => {
    if (entry.corrupt !== undefined) return true;
    if (labels !== undefined && !labels(entry.labels)) return false;
    return readers.every(({ read, value, negated }) => (read(entry) === value) !== negated);
  };
}

/** Reads a field of the object in the served version. The caller converts the object first. */
function customFieldReader(served: ServedResource, custom: CustomShape, field: string): (entry: Entry) => string {
  const memoKey = `field ${served.apiVersion} ${custom.key} ${field}`;
  return (entry) => {
    const known = entry.memo.get(memoKey);
    if (typeof known === "string") return known;
    const value = custom.fieldValue(objectIn(entry, served), field);
    entry.memo.set(memoKey, value);
    return value;
  };
}

/** Reads name and namespace from the key. Other fields are parsed once per entry. */
function fieldReader(served: ServedResource, group: string, resource: string, field: string): (entry: Entry) => string {
  const { keyPrefix, namespaced } = served.stored;
  if (field === "metadata.name") return ({ key }) => key.slice(key.lastIndexOf("/") + 1);
  if (field === "metadata.namespace")
    return ({ key }) => (namespaced ? key.slice(keyPrefix.length, key.lastIndexOf("/")) : "");
  if (served.custom !== undefined) return customFieldReader(served, served.custom, field);
  const read = fieldValue(group, resource, field);
  const memoKey = `field ${group}/${field}`;
  return (entry) => {
    const known = entry.memo.get(memoKey);
    if (typeof known === "string") return known;
    const value = read(parseEntry(entry));
    entry.memo.set(memoKey, value);
    return value;
  };
}

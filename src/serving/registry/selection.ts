/** The entries of a collection that a request selects. */
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
  /** A collection's prefix, or one object's key if the selectors determine it. */
  readonly prefix: string;
  readonly range: KeyRange;
  /** Undefined if the whole range is selected. */
  readonly matches: ((entry: Entry) => boolean) | undefined;
  /** True if it reads fields of objects in the served version, which must be converted first. */
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

/** Fields that are part of the key. */
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

/** Reads the object in the requested version. Objects not converted yet are evaluated after their conversion. */
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

/** Name and namespace are part of the key; other fields are parsed once per entry. */
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

/** Decodes, encodes and sorts the entries of metadata.managedFields, and limits their number. */
import { must } from "../../base/assert.ts";
import { isJsonObject, stringAt, type JsonObject } from "../../meta/json.ts";
import type { FieldSet } from "./field-set.ts";
import { fromFieldsV1, toFieldsV1 } from "./fields-v1.ts";
import { FieldSetError } from "./path-element.ts";
import { managedFieldsOf } from "./tracking.ts";

export interface ManagerEntry {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339, whole seconds. Entries of the scale subresource have no time. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
  /** The JSON from which this entry was decoded; undefined if more than its time has changed. */
  readonly source: JsonObject | undefined;
}

/**
 * Keyed by identifier, so that a manager has one entry for each operation and subresource, and for updates also for
 * each API version.
 */
export type ManagerEntries = Map<string, ManagerEntry>;

export const UPDATE_MANAGERS_MAX = 10;
const OLD_UPDATES_MANAGER = "ancient-changes";
const FIELDS_TYPE = "FieldsV1";

/** An applier has the same identifier in every version; an updater has a different identifier in each version. */
export function managerIdentifier(entry: Omit<ManagerEntry, "time" | "fields" | "source">): string {
  const { manager, operation, subresource } = entry;
  const apiVersion = operation === "Apply" ? undefined : entry.apiVersion;
  return JSON.stringify({
    manager: manager || undefined,
    operation,
    apiVersion,
    subresource: subresource || undefined,
  });
}

/** Throws FieldSetError for an invalid entry. */
export function decodeEntries(value: unknown): ManagerEntries {
  const entries: ManagerEntries = new Map();
  if (value === undefined || value === null) return entries;
  if (!Array.isArray(value)) throw new FieldSetError("managedFields must be a list");
  for (const item of value) {
    const entry = decodeEntry(item);
    entries.set(managerIdentifier(entry), entry);
  }
  return entries;
}

/** The decoded entries, or an empty map if the value is invalid. */
export function entriesOrNone(value: unknown): ManagerEntries {
  try {
    return decodeEntries(value);
  } catch (error) {
    if (error instanceof FieldSetError) return new Map();
    throw error;
  }
}

/** The metadata.managedFields of the live object; undefined if it has no entries. */
export function liveEntries(live: JsonObject | undefined): readonly JsonObject[] | undefined {
  const stored = live && managedFieldsOf(live);
  return Array.isArray(stored) && stored.length > 0 ? (stored as readonly JsonObject[]) : undefined;
}

function decodeEntry(value: unknown): ManagerEntry {
  if (!isJsonObject(value)) throw new FieldSetError("an entry of managedFields must be an object");
  const operation = stringAt(value, "operation");
  if (operation !== "Apply" && operation !== "Update") throw new FieldSetError("operation must be `Apply` or `Update`");
  const apiVersion = stringAt(value, "apiVersion");
  if (apiVersion === "") throw new FieldSetError("apiVersion must not be empty");
  if (value["fieldsType"] !== FIELDS_TYPE) throw new FieldSetError("fieldsType must be `FieldsV1`");
  return {
    manager: stringAt(value, "manager"),
    operation,
    apiVersion,
    subresource: stringAt(value, "subresource"),
    time: stringAt(value, "time") || undefined,
    fields: fromFieldsV1(value["fieldsV1"]),
    source: value,
  };
}

/** The sorted list for metadata.managedFields; undefined if there is no entry. */
export function encodeEntries(entries: ManagerEntries): readonly JsonObject[] | undefined {
  if (entries.size === 0) return undefined;
  const list = [...entries.values()];
  if (list.length > 1) list.sort(compareEntries);
  return list.map(entryJson);
}

function entryJson(entry: ManagerEntry): JsonObject {
  const { source } = entry;
  if (source === undefined) return encodeEntry(entry, toFieldsV1(entry.fields));
  if (source["time"] === entry.time) return source;
  return encodeEntry(entry, source["fieldsV1"] as JsonObject);
}

/** The JSON text of an entry for a write of the object itself, not of a subresource. */
export function entryText(entry: Omit<ManagerEntry, "subresource" | "fields" | "source">, fieldsV1: string): string {
  const head = JSON.stringify(encodeEntry({ ...entry, subresource: "" }, undefined));
  return `${head.slice(0, -1)},"fieldsV1":${fieldsV1}}`;
}

function encodeEntry(entry: Omit<ManagerEntry, "fields" | "source">, fieldsV1: JsonObject | undefined): JsonObject {
  const encoded: JsonObject = {};
  if (entry.manager !== "") encoded["manager"] = entry.manager;
  encoded["operation"] = entry.operation;
  encoded["apiVersion"] = entry.apiVersion;
  if (entry.time !== undefined) encoded["time"] = entry.time;
  encoded["fieldsType"] = FIELDS_TYPE;
  if (fieldsV1 !== undefined) encoded["fieldsV1"] = fieldsV1;
  if (entry.subresource !== "") encoded["subresource"] = entry.subresource;
  return encoded;
}

function compareEntries(left: ManagerEntry, right: ManagerEntry): number {
  return (
    compareText(left.operation, right.operation) ||
    seconds(left) - seconds(right) ||
    compareText(left.manager, right.manager) ||
    compareText(left.apiVersion, right.apiVersion) ||
    compareText(left.subresource, right.subresource)
  );
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function seconds(entry: ManagerEntry): number {
  const milliseconds = entry.time === undefined ? 0 : Date.parse(entry.time);
  return Number.isNaN(milliseconds) ? 0 : Math.floor(milliseconds / 1000);
}

/**
 * Merges the oldest updaters of each version into one entry until the number of updaters is within the limit. Does not
 * change the only updater of a version.
 */
export function capUpdateManagers(entries: ManagerEntries): void {
  const updaters = [...entries].filter(([, entry]) => entry.operation === "Update");
  let count = updaters.length;
  if (count <= UPDATE_MANAGERS_MAX) return;
  updaters.sort(([leftId, left], [rightId, right]) => seconds(left) - seconds(right) || compareText(leftId, rightId));
  const firstOfVersion = new Map<string, string>();
  for (const [id, entry] of updaters) {
    if (count <= UPDATE_MANAGERS_MAX) return;
    const first = firstOfVersion.get(entry.apiVersion);
    if (first === undefined) {
      firstOfVersion.set(entry.apiVersion, id);
      continue;
    }
    mergeIntoBucket(entries, { first, id });
    count--;
  }
}

function mergeIntoBucket(
  entries: ManagerEntries,
  { first, id }: { readonly first: string; readonly id: string },
): void {
  const entry = must(entries.get(id), "only entries that exist are merged");
  const name = {
    manager: OLD_UPDATES_MANAGER,
    operation: "Update",
    apiVersion: entry.apiVersion,
    subresource: "",
  } as const;
  const bucketId = managerIdentifier(name);
  const bucket = entries.get(bucketId) ?? must(entries.get(first), "only entries that exist are merged");
  if (!entries.has(bucketId)) entries.delete(first);
  entries.delete(id);
  // The merged entry gets the time of `entry`, because updaters are merged from the oldest to the most recent.
  entries.set(bucketId, { ...name, time: entry.time, fields: entry.fields.union(bucket.fields), source: undefined });
}

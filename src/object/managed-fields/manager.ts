/**
 * Who owns which field, kept up to date on writes other than apply: the writer comes to own what it
 * changed, everybody else loses what was changed or removed.
 *
 * It belongs after decoding, defaulting and patching, and before admission and the kind's own rules:
 * fields that the server itself fills in later are nobody's.
 */
import { timestampAt } from "../../meta/timestamp.ts";
import { isJsonObject, jsonEquals, objectAt, type JsonObject } from "../../meta/json.ts";
import type { StructSchema } from "../schema.ts";
import type { AbsentFields } from "./absent-fields.ts";
import { createdFields } from "./created-fields.ts";
import {
  capUpdateManagers,
  decodeEntries,
  encodeEntries,
  entryText,
  managerIdentifier,
  type ManagerEntries,
  type ManagerEntry,
} from "./entries.ts";
import { FieldSet } from "./field-set.ts";
import { FieldSetError, type FieldPath } from "./path-element.ts";
import { reconcileWithSchema } from "./reconcile.ts";
import { changedFields, type ChangedFields } from "./typed-set.ts";

export interface VersionedObject {
  readonly object: JsonObject;
  readonly schema: StructSchema;
}

export interface ManagedFieldsUpdate {
  /** Undefined on create. */
  readonly live: JsonObject | undefined;
  /** The object as it is to be, in the version of the request; its own managedFields are what the client sent. */
  readonly next: JsonObject;
  readonly schema: StructSchema;
  /** Of the request. */
  readonly apiVersion: string;
  readonly manager: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** RFC 3339, whole seconds; writes through /scale leave none. */
  readonly time: string | undefined;
  /** Paths that this door cannot write, such as `["status"]`. */
  readonly resetFields?: readonly (readonly string[])[];
  /** `none` for custom resources; `zero` by default. */
  readonly absentFields?: AbsentFields;
  /**
   * The object in the version of an entry; undefined where there is no such version any more, which ends
   * the entry; `unknown` where there is no telling, which leaves it as it is. It must not throw. Without it entries of
   * other versions are left as they are.
   */
  readonly inVersion?: (object: JsonObject, apiVersion: string) => VersionedObject | "unknown" | undefined;
}

/** The new metadata.managedFields, or undefined for none. */
export function trackUpdate(update: ManagedFieldsUpdate): readonly JsonObject[] | undefined {
  const { live } = update;
  try {
    const keeps = keepsEntries(update);
    const comparisons = new VersionComparisons(update);
    if (live !== undefined && keeps && comparisons.isEmpty) return liveEntries(live);
    const base = keeps ? entriesOrNone(liveEntries(live)) : sentEntries(update);
    // Tracking was given up for this object, by a client or by a server that did not track.
    if (base.size === 0 && live !== undefined) return undefined;
    return encodeEntries(updatedEntries(base, comparisons, update));
  } catch (error) {
    // An object whose list items have no keys will not pass validation; what was known must not be lost by it.
    if (error instanceof FieldSetError) return liveEntries(live);
    throw error;
  }
}

/** The JSON text of metadata.managedFields of a new object, or undefined for none; as trackUpdate has it, for less. */
export function trackCreate(create: Omit<ManagedFieldsUpdate, "live" | "subresource">): string | undefined {
  const update: ManagedFieldsUpdate = { ...create, live: undefined, subresource: "" };
  if (!keepsEntries(update)) {
    const entries = trackUpdate(update);
    return entries && JSON.stringify(entries);
  }
  const { next, schema, absentFields: absent = "zero", time } = update;
  try {
    const fieldsV1 = createdFields(next, schema, { absent, untracked: NEVER_TRACKED.union(resetSet(update)) });
    return fieldsV1 && `[${entryText({ ...writer(update), time }, fieldsV1)}]`;
  } catch (error) {
    if (error instanceof FieldSetError) return undefined;
    throw error;
  }
}

function liveEntries(live: JsonObject | undefined): readonly JsonObject[] | undefined {
  const stored = live && managedFieldsOf(live);
  return Array.isArray(stored) && stored.length > 0 ? (stored as readonly JsonObject[]) : undefined;
}

function managedFieldsOf(object: JsonObject): unknown {
  return objectAt(object, "metadata")["managedFields"];
}

/** Whether the live object's entries are the ones to start from: nothing else was sent, or this door does not take any. */
function keepsEntries({ live, next, subresource }: ManagedFieldsUpdate): boolean {
  const sent = managedFieldsOf(next);
  return (
    subresource !== "" ||
    sent === undefined ||
    sent === null ||
    (live !== undefined && jsonEquals(sent, managedFieldsOf(live)))
  );
}

/** What the client sent, as long as it is usable, else the live object's. */
/** Far above the ten update managers a server keeps, and whoever applies besides. */
const SENT_ENTRIES_MAX = 200;

function sentEntries({ live, next }: ManagedFieldsUpdate): ManagerEntries {
  const sent = managedFieldsOf(next);
  if (isReset(sent)) return new Map();
  // What no server ever wrote is not taken: merging many sets into one costs the square of their number.
  const isTooMany = Array.isArray(sent) && sent.length > SENT_ENTRIES_MAX;
  const entries: ManagerEntries = isTooMany ? new Map() : entriesOrNone(sent);
  if (entries.size === 0) return entriesOrNone(liveEntries(live));
  // Rewritten in canonical form, because they are no server's writing.
  for (const [id, entry] of entries)
    entries.set(id, { ...entry, time: entry.time && canonicalTime(entry.time), source: undefined });
  return entries;
}

function entriesOrNone(value: unknown): ManagerEntries {
  try {
    return decodeEntries(value);
  } catch (error) {
    if (error instanceof FieldSetError) return new Map();
    throw error;
  }
}

/** An empty list, or a list of one empty entry, which is how merge patches can say it. */
function isReset(sent: unknown): boolean {
  if (!Array.isArray(sent) || sent.length > 1) return false;
  const only: unknown = sent[0];
  return (
    only === undefined ||
    (isJsonObject(only) && Object.values(only).every((value) => value === "" || value === null || value === undefined))
  );
}

function canonicalTime(time: string): string | undefined {
  const milliseconds = Date.parse(time);
  return Number.isNaN(milliseconds) ? undefined : timestampAt(milliseconds);
}

function updatedEntries(
  entries: ManagerEntries,
  comparisons: VersionComparisons,
  update: ManagedFieldsUpdate,
): ManagerEntries {
  for (const [id, entry] of entries) {
    const version = comparisons.of(entry.apiVersion);
    if (version === "unknown") continue;
    const reconciled = version && reconcileWithSchema(entry.fields, version.schema);
    const fields = version && reconciled?.difference(version.changed).difference(version.removed);
    if (fields === undefined || fields.isEmpty) entries.delete(id);
    else if (fields !== entry.fields) entries.set(id, { ...entry, fields, source: undefined });
  }
  const gained = comparisons.inRequestVersion.changed.difference(NEVER_TRACKED);
  if (!gained.isEmpty) gain(entries, gained, update);
  capUpdateManagers(entries);
  return entries;
}

function gain(entries: ManagerEntries, gained: FieldSet, update: ManagedFieldsUpdate): void {
  const name = writer(update);
  const id = managerIdentifier(name);
  const fields = entries.get(id)?.fields.union(gained) ?? gained;
  entries.set(id, { ...name, time: update.time, fields, source: undefined });
}

function writer({
  manager,
  apiVersion,
  subresource,
}: ManagedFieldsUpdate): Omit<ManagerEntry, "time" | "fields" | "source"> {
  return { manager: manager === "" ? UNKNOWN_MANAGER : manager, operation: "Update", apiVersion, subresource };
}

function resetSet({ resetFields = [] }: ManagedFieldsUpdate): FieldSet {
  return FieldSet.of(...resetFields.map(namedPath));
}

interface VersionComparison extends ChangedFields {
  readonly schema: StructSchema;
}

/** What changed, as each version that somebody owns fields in sees it. */
class VersionComparisons {
  readonly inRequestVersion: VersionComparison;
  readonly #update: ManagedFieldsUpdate;
  readonly #reset: FieldSet;
  readonly #byVersion = new Map<string, VersionComparison | "unknown" | undefined>();

  constructor(update: ManagedFieldsUpdate) {
    this.#update = update;
    this.#reset = resetSet(update);
    const { live, next, schema } = update;
    this.inRequestVersion = this.#compare({ before: live ?? {}, after: next, schema });
    this.#byVersion.set(update.apiVersion, this.inRequestVersion);
  }

  /** Nothing changed that anybody can own. */
  get isEmpty(): boolean {
    const { changed, removed } = this.inRequestVersion;
    return changed.difference(NEVER_TRACKED).isEmpty && removed.difference(NEVER_TRACKED).isEmpty;
  }

  /** Undefined for a version that is no more, `unknown` when there is no way to tell. */
  of(apiVersion: string): VersionComparison | "unknown" | undefined {
    if (this.#byVersion.has(apiVersion)) return this.#byVersion.get(apiVersion);
    if (this.#update.inVersion === undefined) return "unknown";
    const comparison = this.#convertAndCompare(apiVersion, this.#update.inVersion);
    this.#byVersion.set(apiVersion, comparison);
    return comparison;
  }

  #convertAndCompare(
    apiVersion: string,
    inVersion: NonNullable<ManagedFieldsUpdate["inVersion"]>,
  ): VersionComparison | "unknown" | undefined {
    const { live, next } = this.#update;
    const after = inVersion(next, apiVersion);
    const before = live === undefined ? { object: {} } : inVersion(live, apiVersion);
    if (before === undefined || after === undefined) return undefined;
    if (before === "unknown" || after === "unknown") return "unknown";
    return this.#compare({ before: before.object, after: after.object, schema: after.schema });
  }

  #compare({
    before,
    after,
    schema,
  }: {
    before: JsonObject;
    after: JsonObject;
    schema: StructSchema;
  }): VersionComparison {
    const absent = this.#update.absentFields ?? "zero";
    const { changed, removed } = changedFields(
      withoutManagedFields(before),
      withoutManagedFields(after),
      schema,
      absent,
    );
    return {
      changed: changed.recursiveDifference(this.#reset),
      removed: removed.recursiveDifference(this.#reset),
      schema,
    };
  }
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const { metadata } = object;
  return isJsonObject(metadata) ? { ...object, metadata: { ...metadata, managedFields: undefined } } : object;
}

function namedPath(names: readonly string[]): FieldPath {
  return names.map((name) => ({ kind: "field", name }));
}

/** Identity and bookkeeping of the object; `metadata` as such is nobody's either. */
export const NEVER_TRACKED: FieldSet = FieldSet.of(
  ...[
    ["apiVersion"],
    ["kind"],
    ["metadata"],
    ...[
      "name",
      "namespace",
      "creationTimestamp",
      "selfLink",
      "uid",
      "clusterName",
      "generation",
      "managedFields",
      "resourceVersion",
    ].map((name) => ["metadata", name]),
  ].map(namedPath),
);

const UNKNOWN_MANAGER = "unknown";
const MANAGER_NAME_BYTES_MAX = 128;
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** The name a writer gave itself, else the program part of its User-Agent. */
export function managerName(fieldManager: string | undefined, userAgent: string | undefined): string {
  if (fieldManager !== undefined && fieldManager !== "") return fieldManager;
  let name = "";
  let bytes = 0;
  for (const character of userAgent?.split("/", 1)[0] ?? "") {
    if (!PRINTABLE.test(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > MANAGER_NAME_BYTES_MAX) break;
    name += character;
  }
  return name === "" ? UNKNOWN_MANAGER : name;
}

/**
 * Updates managedFields on writes other than apply: the writer owns the fields that it changed, and all other managers
 * lose the fields that it changed or removed.
 *
 * Runs after decoding, defaulting and patching, and before admission and the rules of the kind, so that fields which
 * the server sets later have no owner.
 */
import { timestampAt } from "../../meta/timestamp.ts";
import { isJsonObject, jsonEquals, type JsonObject } from "../../meta/json.ts";
import { createdFields } from "./created-fields.ts";
import {
  capUpdateManagers,
  encodeEntries,
  entriesOrNone,
  entryText,
  liveEntries,
  managerIdentifier,
  type ManagerEntries,
  type ManagerEntry,
} from "./entries.ts";
import type { FieldSet } from "./field-set.ts";
import { FieldSetError } from "./path-element.ts";
import { reconcileWithSchema } from "./reconcile.ts";
import { managedFieldsOf, NEVER_TRACKED, resetSet, type TrackedRequest } from "./tracking.ts";
import { VersionComparisons } from "./version-comparisons.ts";

export interface ManagedFieldsUpdate extends TrackedRequest {
  /** The new object in the version of the request; its managedFields are those that the client sent. */
  readonly next: JsonObject;
}

/** Returns the new metadata.managedFields, or undefined for none. */
export function trackUpdate(update: ManagedFieldsUpdate): readonly JsonObject[] | undefined {
  const { live } = update;
  try {
    const keeps = keepsEntries(update);
    const comparisons = new VersionComparisons(update);
    if (live !== undefined && keeps && comparisons.isEmpty) return liveEntries(live);
    const base = keeps ? entriesOrNone(liveEntries(live)) : sentEntries(update);
    // No tracking: a client has removed all entries, or a server without tracking has written the object.
    if (base.size === 0 && live !== undefined) return undefined;
    return encodeEntries(updatedEntries(base, comparisons, update));
  } catch (error) {
    // An object whose list items have no keys will fail validation; it must not lose its entries.
    if (error instanceof FieldSetError) return liveEntries(live);
    throw error;
  }
}

/**
 * Returns the JSON text of metadata.managedFields for a new object, or undefined for none. The result equals that of
 * trackUpdate, at a lower cost.
 */
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

/**
 * Whether the update starts from the entries of the live object, because the client sent none or the same entries, or
 * because a subresource endpoint ignores them.
 */
function keepsEntries({ live, next, subresource }: ManagedFieldsUpdate): boolean {
  const sent = managedFieldsOf(next);
  return (
    subresource !== "" ||
    sent === undefined ||
    sent === null ||
    (live !== undefined && jsonEquals(sent, managedFieldsOf(live)))
  );
}

/** Limit of entries in a request, far above the number that servers write: ten updaters plus the appliers. */
const SENT_ENTRIES_MAX = 200;

/** The entries that the client sent if they are valid, otherwise those of the live object. */
function sentEntries({ live, next }: ManagedFieldsUpdate): ManagerEntries {
  const sent = managedFieldsOf(next);
  if (isReset(sent)) return new Map();
  // Servers never write so many entries, and merging many sets into one takes quadratic time.
  const isTooMany = Array.isArray(sent) && sent.length > SENT_ENTRIES_MAX;
  const entries: ManagerEntries = isTooMany ? new Map() : entriesOrNone(sent);
  if (entries.size === 0) return entriesOrNone(liveEntries(live));
  // Convert the fields to canonical form, because a client has written them.
  for (const [id, entry] of entries)
    entries.set(id, { ...entry, time: entry.time && canonicalTime(entry.time), source: undefined });
  return entries;
}

/** Whether the client resets managedFields: an empty list, or a list of one empty entry as sent by merge patches. */
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
  const { changed } = comparisons.inRequestVersion;
  const gained = changed.difference(NEVER_TRACKED);
  const own = managerIdentifier(writer(update));
  for (const [id, entry] of entries) {
    const version = comparisons.of(entry.apiVersion);
    if (version === "unknown") continue;
    const reconciled = version && reconcileWithSchema(entry.fields, version.schema);
    // The writer keeps what it would gain again, so that its entry often stays as it is.
    const lost = id === own ? changed.difference(gained) : version?.changed;
    const fields = version && lost && reconciled?.difference(lost).difference(version.removed);
    if (fields === undefined || (fields.isEmpty && id !== own)) entries.delete(id);
    else if (fields !== entry.fields) entries.set(id, { ...entry, fields, source: undefined });
  }
  if (!gained.isEmpty) gain(entries, gained, update);
  else if (entries.get(own)?.fields.isEmpty === true) entries.delete(own);
  capUpdateManagers(entries);
  return entries;
}

function gain(entries: ManagerEntries, gained: FieldSet, update: ManagedFieldsUpdate): void {
  const name = writer(update);
  const id = managerIdentifier(name);
  const before = entries.get(id);
  const fields = before?.fields.union(gained) ?? gained;
  const source = before?.fields === fields ? before.source : undefined;
  entries.set(id, { ...name, time: update.time, fields, source });
}

function writer({
  manager,
  apiVersion,
  subresource,
}: ManagedFieldsUpdate): Omit<ManagerEntry, "time" | "fields" | "source"> {
  return { manager: manager === "" ? UNKNOWN_MANAGER : manager, operation: "Update", apiVersion, subresource };
}

const UNKNOWN_MANAGER = "unknown";
const MANAGER_NAME_BYTES_MAX = 128;
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** The requested field manager, otherwise the program part of the User-Agent. */
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

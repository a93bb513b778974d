/**
 * Server-side apply. The applied object is merged into the live object. Fields that the applier owned before and no
 * longer applies are removed unless another manager owns them. If the apply would change a field that another manager
 * owns, the request fails with a conflict; with force, the applier takes the field from that manager. No manager owns
 * fields that the server sets later.
 */
import { must } from "../../base/assert.ts";
import { jsonEquals, type JsonObject } from "../../meta/json.ts";
import { conflictsWith, type FieldConflict } from "./conflicts.ts";
import {
  decodeEntries,
  encodeEntries,
  entriesOrNone,
  liveEntries,
  managerIdentifier,
  type ManagerEntries,
  type ManagerEntry,
} from "./entries.ts";
import type { FieldSet } from "./field-set.ts";
import { LAST_APPLIED_MANAGER, lastAppliedFields, withLastApplied } from "./last-applied.ts";
import { trackUpdate } from "./manager.ts";
import { mergeObjects } from "./merge.ts";
import { prune, type VersionConverter } from "./prune.ts";
import { reconcileWithSchema } from "./reconcile.ts";
import { withoutNulls } from "./nulls.ts";
import {
  isUnfit,
  NEVER_TRACKED,
  resetSet,
  withoutManagedFields,
  type TrackedRequest,
  type UnfitObject,
} from "./tracking.ts";
import { fieldsOf } from "./typed-set.ts";
import { VersionComparisons } from "./version-comparisons.ts";

export interface Apply extends TrackedRequest {
  /** The applied object, for which `checkApplied` reports no problem. */
  readonly applied: JsonObject;
  /** The object as the client sent it, for the annotation of client-side apply. */
  readonly sent: JsonObject;
  /** Whether `applied` contains null. */
  readonly hasNull: boolean;
  readonly force: boolean;
  /**
   * Converts an object from the version `apiVersion` to the version of the request; undefined if that is impossible.
   * Must not throw.
   */
  readonly fromVersion?: (object: JsonObject, apiVersion: string) => JsonObject | undefined;
}

export type ApplyOutcome =
  | {
      readonly kind: "applied";
      /** The new object without managedFields. Shares values with the live and the applied object. */
      readonly object: JsonObject;
      readonly managedFields: readonly JsonObject[] | undefined;
    }
  | { readonly kind: "conflicts"; readonly conflicts: readonly FieldConflict[] }
  /** The version in which a manager has written cannot hold the object. */
  | { readonly kind: "unfit"; readonly message: string };

const FIRST_MANAGER = "before-first-apply";

/** Throws FieldSetError if the live object has list items without the keys that identify them. */
export function applyObject(apply: Apply): ApplyOutcome {
  const live = withoutManagedFields(apply.live ?? {});
  const known = knownEntries(apply, live);
  const unfitLive = firstUnfit(apply, live, known.values());
  if (unfitLive !== undefined) return { kind: "unfit", message: unfitLive.problem };
  const entries = reconciledEntries(apply, live, known);
  const applier = applierOf(apply);
  const id = managerIdentifier(applier);
  const last = entries.get(id);
  const others = [...entries].flatMap(([key, entry]) => (key === id ? [] : [entry]));
  const fields = fieldsOf(apply.applied, apply.schema).recursiveDifference(resetSet(apply));
  entries.set(id, { ...applier, time: last?.time, fields, source: undefined });
  const laid = mergeObjects(live, apply.applied, apply.schema);
  const message = unfitMessage(apply, laid, { last, others });
  if (message !== undefined) return { kind: "unfit", message };
  const isPruned = last !== undefined && !last.fields.difference(fields).isEmpty;
  const merged = isPruned ? prune(laid, { last, owned: entries.values(), versions: versionsOf(apply) }) : laid;
  const comparisons = new VersionComparisons({ ...apply, live, next: merged });
  const conflicts = unforced(conflictsOf(entries, id, comparisons), { apply, live });
  if (conflicts.length > 0) return { kind: "conflicts", conflicts };
  const isChanged = !jsonEquals(live, merged);
  takeFromOthers(entries, id, comparisons);
  settleApplier(entries, { id, last, time: isChanged ? (apply.time ?? last?.time) : last?.time });
  const cleaned = isPruned || apply.hasNull ? withoutNulls(merged, apply.schema) : merged;
  const object = apply.manager === LAST_APPLIED_MANAGER ? withLastApplied(cleaned, apply.sent) : cleaned;
  return { kind: "applied", object, managedFields: encodeEntries(entries) };
}

function applierOf({ manager, apiVersion, subresource }: Apply): Omit<ManagerEntry, "time" | "fields" | "source"> {
  return { manager, operation: "Apply", apiVersion, subresource };
}

/** The entries of the live object. */
function knownEntries(apply: Apply, live: JsonObject): ManagerEntries {
  const entries = entriesOrNone(liveEntries(apply.live));
  return entries.size === 0 && apply.live !== undefined ? firstEntries(apply, live) : entries;
}

/** Adapts the entries to the current schemas, and removes those of versions that no longer exist. */
function reconciledEntries(apply: Apply, live: JsonObject, known: ManagerEntries): ManagerEntries {
  for (const [id, entry] of known) {
    const version = inVersion(apply, live, entry.apiVersion);
    if (version === "unknown") continue;
    if (version === undefined || isUnfit(version)) known.delete(id);
    else known.set(id, withFields(entry, reconcileWithSchema(entry.fields, version.schema)));
  }
  return known;
}

/** The entries of an object without managedFields: the manager before-first-apply owns all its fields. */
function firstEntries({ applied: _applied, ...apply }: Apply, live: JsonObject): ManagerEntries {
  return decodeEntries(trackUpdate({ ...apply, live: undefined, next: live, manager: FIRST_MANAGER }));
}

function inVersion(apply: Apply, object: JsonObject, apiVersion: string): ReturnType<NonNullable<Apply["inVersion"]>> {
  if (apiVersion === apply.apiVersion) return { object, schema: apply.schema };
  return apply.inVersion === undefined ? "unknown" : apply.inVersion(object, apiVersion);
}

interface UnfitVersion extends UnfitObject {
  readonly apiVersion: string;
}

/** The first version of an entry that cannot hold the object. */
function firstUnfit(apply: Apply, object: JsonObject, entries: Iterable<ManagerEntry>): UnfitVersion | undefined {
  for (const apiVersion of new Set(Array.from(entries, (entry) => entry.apiVersion))) {
    const version = inVersion(apply, object, apiVersion);
    if (typeof version === "object" && isUnfit(version)) return { ...version, apiVersion };
  }
  return undefined;
}

/** Why the merged object cannot be compared in the version of an entry, in the words of kubernetes. */
function unfitMessage(
  apply: Apply,
  merged: JsonObject,
  { last, others }: { readonly last: ManagerEntry | undefined; readonly others: readonly ManagerEntry[] },
): string | undefined {
  const isPruning = last !== undefined && !last.fields.isEmpty;
  const ofLast = isPruning ? firstUnfit(apply, merged, [last]) : undefined;
  if (ofLast !== undefined)
    return `failed to prune fields: failed to convert merged object to last applied version: ${ofLast.problem}`;
  const ofOther = firstUnfit(apply, merged, others);
  if (ofOther === undefined) return undefined;
  const { apiVersion, problem } = ofOther;
  if (!isPruning) return `failed to convert new object: ${problem}`;
  return `failed to prune fields: failed add back owned items: failed to convert merged object at version ${apiVersion}: ${problem}`;
}

/**
 * For a version that this server cannot convert, the converter assumes that fields have the same paths as in the
 * version of the request.
 */
function versionsOf(apply: Apply): VersionConverter {
  const { apiVersion, schema } = apply;
  return {
    to: (object, version) => {
      const found = inVersion(apply, object, version);
      if (found === "unknown") return { object, schema };
      return found === undefined || isUnfit(found) ? undefined : found;
    },
    from: (object, version) => {
      if (version === apiVersion || inVersion(apply, {}, version) === "unknown") return object;
      return apply.fromVersion?.(object, version);
    },
  };
}

interface OwnedFields {
  readonly id: string;
  readonly entry: ManagerEntry;
  readonly fields: FieldSet;
}

function conflictsOf(entries: ManagerEntries, applier: string, comparisons: VersionComparisons): FieldConflict[] {
  const owned: OwnedFields[] = [];
  for (const [id, entry] of entries) {
    const version = id === applier ? undefined : comparisons.of(entry.apiVersion);
    if (version === undefined || version === "unknown") continue;
    const fields = entry.fields.intersection(version.changed);
    if (!fields.isEmpty) owned.push({ id, entry, fields });
  }
  owned.sort((left, right) => (left.id < right.id ? -1 : 1));
  return owned.flatMap(({ entry, fields }) => conflictsWith(entry, fields));
}

/**
 * The conflicts that make the request fail: none with force, and none for fields that kubectl takes over from
 * client-side apply.
 */
function unforced(
  conflicts: readonly FieldConflict[],
  { apply, live }: { readonly apply: Apply; readonly live: JsonObject },
): readonly FieldConflict[] {
  if (apply.force || conflicts.length === 0) return [];
  const allowed = apply.manager === LAST_APPLIED_MANAGER ? lastAppliedFields(live, apply) : undefined;
  return allowed === undefined ? conflicts : conflicts.filter(({ path }) => !allowed.has(path));
}

function takeFromOthers(entries: ManagerEntries, applier: string, comparisons: VersionComparisons): void {
  for (const [id, entry] of entries) {
    const version = id === applier ? "unknown" : comparisons.of(entry.apiVersion);
    if (version === "unknown") continue;
    const fields = version && entry.fields.difference(version.changed).difference(version.removed);
    if (fields === undefined || fields.isEmpty) entries.delete(id);
    else entries.set(id, withFields(entry, fields));
  }
}

/**
 * Keeps the applier's previous entry if its fields, time and version have not changed. Removes an entry without fields.
 */
function settleApplier(
  entries: ManagerEntries,
  {
    id,
    last,
    time,
  }: { readonly id: string; readonly last: ManagerEntry | undefined; readonly time: string | undefined },
): void {
  const entry = must(entries.get(id), "the entry was set before");
  const fields = entry.fields.difference(NEVER_TRACKED);
  const isSame =
    last !== undefined && last.time === time && last.apiVersion === entry.apiVersion && last.fields.equals(fields);
  if (fields.isEmpty) entries.delete(id);
  else entries.set(id, isSame ? last : { ...entry, fields, time });
}

function withFields(entry: ManagerEntry, fields: FieldSet): ManagerEntry {
  return fields === entry.fields ? entry : { ...entry, fields, source: undefined };
}

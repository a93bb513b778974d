/**
 * Server-side apply. The applier says what it wants to own; that is laid over the live object, what it owned before and
 * no longer speaks of goes unless somebody else owns it, and where it wants something else than its owner there is a
 * conflict, or, with force, a new owner. Nobody comes to own what the server fills in later.
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
import { NEVER_TRACKED, resetSet, withoutManagedFields, type TrackedRequest } from "./tracking.ts";
import { fieldsOf } from "./typed-set.ts";
import { VersionComparisons } from "./version-comparisons.ts";

export interface Apply extends TrackedRequest {
  /** What `checkApplied` has nothing against. */
  readonly applied: JsonObject;
  /** As it was sent, for the annotation of client-side apply. */
  readonly sent: JsonObject;
  /** `applied` says null somewhere. */
  readonly hasNull: boolean;
  readonly force: boolean;
  /** Back from another version to that of the request; undefined where there is no way. It must not throw. */
  readonly fromVersion?: (object: JsonObject, apiVersion: string) => JsonObject | undefined;
}

export type ApplyOutcome =
  | {
      readonly kind: "applied";
      /** Without managedFields. Shares with the live and the applied object. */
      readonly object: JsonObject;
      readonly managedFields: readonly JsonObject[] | undefined;
    }
  | { readonly kind: "conflicts"; readonly conflicts: readonly FieldConflict[] };

const FIRST_MANAGER = "before-first-apply";

/** Throws FieldSetError where the live object's fields cannot be named. */
export function applyObject(apply: Apply): ApplyOutcome {
  const live = withoutManagedFields(apply.live ?? {});
  const entries = reconciledEntries(apply, live);
  const applier = applierOf(apply);
  const id = managerIdentifier(applier);
  const last = entries.get(id);
  const fields = fieldsOf(apply.applied, apply.schema).recursiveDifference(resetSet(apply));
  entries.set(id, { ...applier, time: last?.time, fields, source: undefined });
  const laid = mergeObjects(live, apply.applied, apply.schema);
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

/** What is known of the live object's owners, in terms of today's schemas; entries of versions that are no more end. */
function reconciledEntries(apply: Apply, live: JsonObject): ManagerEntries {
  const entries = entriesOrNone(liveEntries(apply.live));
  const known = entries.size === 0 && apply.live !== undefined ? firstEntries(apply, live) : entries;
  for (const [id, entry] of known) {
    const version = inVersion(apply, live, entry.apiVersion);
    if (version === "unknown") continue;
    if (version === undefined) known.delete(id);
    else known.set(id, withFields(entry, reconcileWithSchema(entry.fields, version.schema)));
  }
  return known;
}

/** An object that nobody was tracked for belongs, as it is, to nobody in particular. */
function firstEntries({ applied: _applied, ...apply }: Apply, live: JsonObject): ManagerEntries {
  return decodeEntries(trackUpdate({ ...apply, live: undefined, next: live, manager: FIRST_MANAGER }));
}

function inVersion(apply: Apply, object: JsonObject, apiVersion: string): ReturnType<NonNullable<Apply["inVersion"]>> {
  if (apiVersion === apply.apiVersion) return { object, schema: apply.schema };
  return apply.inVersion === undefined ? "unknown" : apply.inVersion(object, apiVersion);
}

/** For who wrote in a version that is not known here, fields are taken to be where they are in that of the request. */
function versionsOf(apply: Apply): VersionConverter {
  const { apiVersion, schema } = apply;
  return {
    to: (object, version) => {
      const found = inVersion(apply, object, version);
      return found === "unknown" ? { object, schema } : found;
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

/** The conflicts that stand in the way. */
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

/** The applier's entry stays the very same as long as nothing about it has changed. */
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

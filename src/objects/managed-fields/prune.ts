/**
 * Removes fields that an applier no longer applies, unless another manager owns them or a field below them.
 *
 * Field sets contain the leaves of an object, but removal works on whole fields. Therefore every set is completed
 * first: the field of a struct is added if the set contains a path below it.
 */
import type { JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import type { ManagerEntry } from "./entries.ts";
import { FieldSet, type FieldChildren, type FieldNode } from "./field-set.ts";
import { removeItems } from "./remove-items.ts";
import { isDeclaredMember, rootSchema, schemaBelow } from "./shape.ts";
import type { VersionedObject } from "./tracking.ts";
import { fieldsOf } from "./typed-set.ts";

/** Converts an object from the version of the request to another version, and back; undefined if that is impossible. */
export interface VersionConverter {
  to(object: JsonObject, apiVersion: string): VersionedObject | undefined;
  from(object: JsonObject, apiVersion: string): JsonObject | undefined;
}

interface Pruning {
  /** The previous entry of the applier. */
  readonly last: ManagerEntry;
  /** The entries of all managers, including the new entry of the applier. */
  readonly owned: Iterable<ManagerEntry>;
  readonly versions: VersionConverter;
}

/** `merged` and the result are in the version of the request. The result has null for a map or list without items. */
export function prune(merged: JsonObject, { last, owned, versions }: Pruning): JsonObject {
  const before = versions.to(merged, last.apiVersion);
  if (before === undefined) return merged;
  const { object, schema } = before;
  const lastFields = withNamedFields(last.fields, schema);
  const stripped = versions.from(removeItems(object, lastFields, schema), last.apiVersion);
  if (stripped === undefined) return merged;
  const rest = addBackOwned({ merged, pruned: stripped }, { last, owned, versions });
  const after = versions.to(rest, last.apiVersion);
  if (after === undefined) return merged;
  // Keep fields that no manager owns unless the applier owned them before.
  const gone = allFields(object, schema).difference(allFields(after.object, schema)).intersection(lastFields);
  return versions.from(removeItems(object, gone, schema), last.apiVersion) ?? merged;
}

interface Stage {
  readonly merged: JsonObject;
  readonly pruned: JsonObject;
}

/**
 * Adds back the removed fields that a manager owns. The version of the applier's previous entry is handled first,
 * because fields of other versions may be derived from its fields.
 */
function addBackOwned({ merged, pruned }: Stage, { last, owned, versions }: Pruning): JsonObject {
  const byVersion = new Map<string, FieldSet>([[last.apiVersion, FieldSet.of()]]);
  for (const { apiVersion, fields } of owned)
    byVersion.set(apiVersion, byVersion.get(apiVersion)?.union(fields) ?? fields);
  let rest = pruned;
  for (const [apiVersion, fields] of byVersion) {
    const before = versions.to(merged, apiVersion);
    const after = versions.to(rest, apiVersion);
    if (before === undefined || after === undefined) continue;
    const { object, schema } = before;
    const kept = allFields(after.object, schema).union(withNamedFields(fields, schema));
    const gone = allFields(object, schema).difference(kept);
    rest = versions.from(removeItems(object, gone, schema), apiVersion) ?? rest;
  }
  return rest;
}

function allFields(object: JsonObject, schema: StructSchema): FieldSet {
  return withNamedFields(fieldsOf(object, schema), schema);
}

function withNamedFields(set: FieldSet, schema: StructSchema): FieldSet {
  return FieldSet.fromChildren(withNamedChildren(set.children, rootSchema(schema)));
}

function withNamedChildren(children: FieldChildren, schema: FieldSchema): FieldChildren {
  const result = new Map<string, FieldNode>();
  for (const [key, node] of children) {
    if (node.children === undefined) result.set(key, node);
    else {
      const member = node.member || (key.startsWith("f:") && isDeclaredMember(schema, key.slice(2)));
      result.set(key, { member, children: withNamedChildren(node.children, schemaBelow(schema, key)) });
    }
  }
  return result;
}

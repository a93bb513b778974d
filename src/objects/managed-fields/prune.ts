/**
 * What an applier no longer speaks of is removed, unless somebody else owns it, or owns something in it.
 *
 * Sets say what an object has by its leaves; removing goes by whole fields. So every set that takes part is completed
 * first: a struct's field counts as there when something below it does.
 */
import type { JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import type { ManagerEntry } from "./entries.ts";
import { FieldSet, type FieldChildren, type FieldNode } from "./field-set.ts";
import { removeItems } from "./remove-items.ts";
import { isDeclaredMember, rootSchema, schemaBelow } from "./shape.ts";
import type { VersionedObject } from "./tracking.ts";
import { fieldsOf } from "./typed-set.ts";

/** The way from the version of the request to another one and back; undefined where there is none. */
export interface VersionConverter {
  to(object: JsonObject, apiVersion: string): VersionedObject | undefined;
  from(object: JsonObject, apiVersion: string): JsonObject | undefined;
}

interface Pruning {
  /** What the applier owned before. */
  readonly last: ManagerEntry;
  /** Everybody's, with what the applier owns now. */
  readonly owned: Iterable<ManagerEntry>;
  readonly versions: VersionConverter;
}

/** `merged` is in the version of the request; so is the result, which has null where nothing is left of a map or list. */
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
  // What nobody owns, and was not the applier's either, stays.
  const gone = allFields(object, schema).difference(allFields(after.object, schema)).intersection(lastFields);
  return versions.from(removeItems(object, gone, schema), last.apiVersion) ?? merged;
}

interface Stage {
  readonly merged: JsonObject;
  readonly pruned: JsonObject;
}

/** The version of what was pruned comes first: what another version is made from may be missing otherwise. */
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

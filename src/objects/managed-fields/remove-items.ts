/** Removes the fields of a set from an object. */
import { isJsonObject, setMember, type JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import type { FieldChildren, FieldSet } from "./field-set.ts";
import { fieldKey } from "./path-element.ts";
import { isAtomicMap, itemKey, itemSchema, listKeys, memberSchema, rootSchema } from "./shape.ts";

/**
 * A map or list that loses all of its items becomes null, because a manager may still own the map or list itself.
 * Shares values with the object.
 */
export function removeItems(object: JsonObject, fields: FieldSet, schema: StructSchema): JsonObject {
  if (fields.isEmpty) return object;
  return (removeBelow(object, fields.children, rootSchema(schema)) as JsonObject | null) ?? {};
}

function removeBelow(value: unknown, fields: FieldChildren, schema: FieldSchema): unknown {
  if (Array.isArray(value)) {
    const keys = listKeys(schema);
    return keys === undefined ? null : removeFromList(value, fields, { schema, keys });
  }
  if (!isJsonObject(value)) return value;
  return isAtomicMap(schema) ? null : removeFromMap(value, fields, schema);
}

function removeFromMap(map: JsonObject, fields: FieldChildren, schema: FieldSchema): JsonObject | null {
  const rest: JsonObject = {};
  let count = 0;
  for (const name of Object.keys(map)) {
    const node = fields.get(fieldKey(name));
    if (node?.member === true) continue;
    const value = map[name];
    setMember(
      rest,
      name,
      node?.children === undefined ? value : removeBelow(value, node.children, memberSchema(schema, name)),
    );
    count++;
  }
  return count === 0 ? null : rest;
}

function removeFromList(
  list: readonly unknown[],
  fields: FieldChildren,
  { schema, keys }: { readonly schema: FieldSchema; readonly keys: readonly string[] },
): readonly unknown[] | null {
  const rest: unknown[] = [];
  for (const item of list) {
    const node = fields.get(itemKey(item, schema, keys));
    if (node?.member === true) continue;
    const left = node?.children === undefined ? item : removeBelow(item, node.children, itemSchema(schema));
    // Drop an item that has lost all of its fields, because it has no keys any more.
    if (left !== null) rest.push(left);
  }
  return rest.length === 0 ? null : rest;
}

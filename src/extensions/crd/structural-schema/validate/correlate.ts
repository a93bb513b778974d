/**
 * Finds the existing value that a new value replaces, and whether the two are equal. Value validation uses it for
 * ratcheting: an unchanged invalid value does not fail an update.
 */
import { isJsonObject, jsonEquals, ownMember, type JsonObject } from "../../../../meta/json.ts";
import type { StructuralSchema } from "../schema.ts";
import { sortedGoJson } from "../../../../meta/go-json.ts";

/**
 * Returns a function that finds the existing item for a new one. Only items of lists of type map can be correlated, by
 * their keys.
 */
export function existingItems(existing: unknown, schema: StructuralSchema): (item: unknown) => unknown {
  if (!Array.isArray(existing) || schema.listType !== "map" || schema.listMapKeys.length === 0) return () => undefined;
  const byKey = new Map<unknown, JsonObject>();
  for (const item of existing) {
    const key = keyOf(item, schema.listMapKeys);
    if (key !== undefined && !byKey.has(key)) byKey.set(key, item as JsonObject);
  }
  return (item) => {
    const key = keyOf(item, schema.listMapKeys);
    return key === undefined ? undefined : byKey.get(key);
  };
}

/** The key of an item; undefined if a key field is missing or is not a scalar. */
function keyOf(item: unknown, keys: readonly string[]): unknown {
  const values: unknown[] = [];
  for (const key of keys) {
    const value = ownMember(item, key);
    if (value === undefined || value === null || typeof value === "object") return undefined;
    values.push(value);
  }
  return values.length === 1 ? values[0] : sortedGoJson(values);
}

/**
 * Whether the new value equals the existing one. As kubernetes: an object with fields that the schema does not specify
 * counts as changed.
 */
export function isUnchanged(value: unknown, existing: unknown, schema: StructuralSchema): boolean {
  if (Array.isArray(value) && Array.isArray(existing)) {
    if (value.length !== existing.length) return false;
    const { items } = schema;
    if (schema.listType !== "map" || items === undefined) return jsonEquals(value, existing);
    const existingItem = existingItems(existing, schema);
    return value.every((item) => {
      const before = existingItem(item);
      return before !== undefined && isUnchanged(item, before, items);
    });
  }
  if (!isJsonObject(value) || !isJsonObject(existing)) return jsonEquals(value, existing);
  const names = Object.keys(value);
  if (names.length !== Object.keys(existing).length) return false;
  return names.every((name) => {
    const before = ownMember(existing, name);
    const member = memberSchema(schema, name);
    return before !== undefined && member !== undefined && isUnchanged(value[name], before, member);
  });
}

function memberSchema({ properties, additionalProperties }: StructuralSchema, name: string) {
  return properties.get(name) ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);
}

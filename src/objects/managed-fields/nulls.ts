/** Handles null in an applied object: the applier owns the field, and the field has no value. */
import { isJsonObject, setMember, type JsonObject } from "../../meta/json.ts";
import { zeroValue } from "../go/go-zeros.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { itemSchema, memberSchema, rootSchema } from "./shape.ts";

/** Restores in `typed` the nulls of `sent` that decoding has removed. Changes `typed`, which the caller must own. */
export function withNulls(typed: JsonObject, sent: JsonObject): JsonObject {
  for (const name of Object.keys(sent)) {
    const value = sent[name];
    if (value === null) setMember(typed, name, null);
    else if (Object.hasOwn(typed, name)) putBackNulls(typed[name], value);
  }
  return typed;
}

function putBackNulls(typed: unknown, sent: unknown): void {
  if (typed === sent) return;
  if (Array.isArray(typed) && Array.isArray(sent)) typed.forEach((item, index) => putBackNulls(item, sent[index]));
  else if (isJsonObject(typed) && isJsonObject(sent)) withNulls(typed, sent);
}

/**
 * The object as Go's types represent it: null is the same as absent, except in maps and lists, where null becomes the
 * zero value. Values without null are shared with the argument.
 */
export function withoutNulls(object: JsonObject, schema: StructSchema): JsonObject {
  return cleanMap(object, rootSchema(schema));
}

function clean(value: unknown, schema: FieldSchema): unknown {
  if (Array.isArray(value)) return cleanList(value, schema);
  // Raw JSON is not changed.
  return isJsonObject(value) && schema.type !== "any" ? cleanMap(value, schema) : value;
}

function cleanMap(map: JsonObject, schema: FieldSchema): JsonObject {
  let result = map;
  for (const name of Object.keys(map)) {
    const value = map[name];
    const member = memberSchema(schema, name);
    const cleaned = value === null ? (schema.type === "map" ? zeroValue(member) : undefined) : clean(value, member);
    if (cleaned === value) continue;
    if (result === map) result = { ...map };
    if (cleaned === undefined) delete result[name];
    else setMember(result, name, cleaned);
  }
  return result;
}

function cleanList(list: readonly unknown[], schema: FieldSchema): readonly unknown[] {
  const items = itemSchema(schema);
  if (items.type === "any") return list;
  const cleaned = list.map((item) => (item === null ? zeroValue(items) : clean(item, items)));
  return cleaned.every((item, index) => item === list[index]) ? list : cleaned;
}

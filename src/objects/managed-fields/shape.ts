/**
 * What the schema says about owning a value: whether it is owned whole (atomic) or by its parts, and how
 * the parts are named. Where the schema is silent, maps are owned by their members and lists whole.
 */
import { isJsonObject, setMember, type JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { elementKey, FieldSetError } from "./path-element.ts";

/** A value no schema describes. */
export const DEDUCED: FieldSchema = Object.freeze({
  type: "any",
  struct: undefined,
  items: undefined,
  format: undefined,
  required: false,
  default: undefined,
  enum: undefined,
  listType: undefined,
  listMapKeys: undefined,
  mapType: undefined,
  patchStrategy: undefined,
  patchMergeKey: undefined,
  intOrString: false,
  quantity: false,
  embeddedResource: false,
  preserveUnknown: true,
});

export function isAtomicMap(schema: FieldSchema): boolean {
  switch (schema.type) {
    case "struct":
      return (schema.mapType ?? schema.struct?.mapType) === "atomic";
    case "map":
      return schema.mapType === "atomic";
    case "any":
      // A RawExtension is owned whole; raw JSON of other kinds by its members.
      return schema.mapType === "atomic" || schema.embeddedResource;
    default:
      return true;
  }
}

/** Undefined for an atomic list, no key fields for a set. */
export function listKeys(schema: FieldSchema): readonly string[] | undefined {
  if (schema.type !== "array") return undefined;
  switch (schema.listType) {
    case "map":
      return schema.listMapKeys ?? [];
    case "set":
      return [];
    case "atomic":
      return undefined;
    case undefined:
      // Releases before 1.30 say it of most lists only by their patch strategy.
      if (!schema.patchStrategy?.includes("merge")) return undefined;
      return schema.patchMergeKey === undefined ? [] : [schema.patchMergeKey];
  }
}

export function memberSchema(schema: FieldSchema, name: string): FieldSchema {
  if (schema.type === "map") return schema.items ?? DEDUCED;
  return schema.struct?.fields.get(name) ?? DEDUCED;
}

/** Declared by the schema, unlike a map's entries, which exist only because somebody made them. */
export function isDeclaredMember(schema: FieldSchema, name: string): boolean {
  return schema.struct?.fields.has(name) ?? false;
}

/** A kind's own schema seen as that of a field. */
export function rootSchema(struct: StructSchema): FieldSchema {
  return { ...DEDUCED, type: "struct", struct, preserveUnknown: struct.preserveUnknown };
}

/** Of what a step below a value leads to. */
export function schemaBelow(schema: FieldSchema, key: string): FieldSchema {
  if (key.startsWith("f:")) return memberSchema(schema, key.slice(2));
  return itemSchema(schema);
}

export function itemSchema(schema: FieldSchema): FieldSchema {
  return schema.type === "array" ? (schema.items ?? DEDUCED) : DEDUCED;
}

/** The fieldsV1 key of an item of an associative list or set. Throws FieldSetError in Kubernetes' words. */
export function itemKey(item: unknown, schema: FieldSchema, keys: readonly string[]): string {
  if (keys.length === 0) return setItemKey(item);
  if (item === null) throw new FieldSetError("associative list with keys may not have a null element");
  if (!isJsonObject(item)) throw new FieldSetError("associative list with keys may not have non-map elements");
  const fields: JsonObject = {};
  let found = 0;
  for (const name of keys) {
    // Null is a value of its own here.
    const own = Object.hasOwn(item, name) ? item[name] : undefined;
    const value = own === undefined ? schema.items?.struct?.fields.get(name)?.default : own;
    if (value === undefined) continue;
    setMember(fields, name, value);
    found++;
  }
  if (found === 0) {
    const names = keys.map((name) => JSON.stringify(name)).join(" ");
    throw new FieldSetError(
      `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
    );
  }
  return elementKey({ kind: "key", fields });
}

function setItemKey(item: unknown): string {
  if (item === null) throw new FieldSetError("associative list without keys has an element that's an explicit null");
  if (Array.isArray(item)) throw new FieldSetError("not supported: associative list with lists as elements");
  if (typeof item === "object")
    throw new FieldSetError("associative list without keys has an element that's a map type");
  return elementKey({ kind: "value", value: item });
}

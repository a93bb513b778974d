/**
 * Decides from the schema whether a value is owned as a whole (atomic) or by its fields or items, and which keys
 * identify the items. By default, maps are owned by their entries and lists as a whole.
 */
import { isJsonObject, setMember, type JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { elementKey, FieldSetError } from "./path-element.ts";

/** The schema of a value that no schema describes. */
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
      // A RawExtension is atomic; other raw JSON is owned by its fields.
      return schema.mapType === "atomic" || schema.embeddedResource;
    default:
      return true;
  }
}

/** The names of the key fields of a list's items; undefined for an atomic list, empty for a set. */
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
      // Releases before 1.30 declare the keys of most lists only by their patch strategy.
      if (!schema.patchStrategy?.includes("merge")) return undefined;
      return schema.patchMergeKey === undefined ? [] : [schema.patchMergeKey];
  }
}

export function memberSchema(schema: FieldSchema, name: string): FieldSchema {
  if (schema.type === "map") return schema.items ?? DEDUCED;
  return schema.struct?.fields.get(name) ?? DEDUCED;
}

/** Whether the schema declares a field of this name, unlike the entries of a map, which clients create. */
export function isDeclaredMember(schema: FieldSchema, name: string): boolean {
  return schema.struct?.fields.has(name) ?? false;
}

/** The schema of a kind as the schema of a field. */
export function rootSchema(struct: StructSchema): FieldSchema {
  return { ...DEDUCED, type: "struct", struct, preserveUnknown: struct.preserveUnknown };
}

/** The schema of the value to which a path element leads. */
export function schemaBelow(schema: FieldSchema, key: string): FieldSchema {
  if (key.startsWith("f:")) return memberSchema(schema, key.slice(2));
  return itemSchema(schema);
}

export function itemSchema(schema: FieldSchema): FieldSchema {
  return schema.type === "array" ? (schema.items ?? DEDUCED) : DEDUCED;
}

/** The fieldsV1 key of an item of an associative list or set. Throws FieldSetError with Kubernetes' message. */
export function itemKey(item: unknown, schema: FieldSchema, keys: readonly string[]): string {
  if (keys.length === 0) return setItemKey(item);
  if (item === null) throw new FieldSetError("associative list with keys may not have a null element");
  if (!isJsonObject(item)) throw new FieldSetError("associative list with keys may not have non-map elements");
  const fields: JsonObject = {};
  let found = 0;
  for (const name of keys) {
    // Null counts as a value here, not as absent.
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

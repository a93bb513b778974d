/**
 * Generates random objects of a kind for server-side apply. They have few names and values, so that field managers
 * conflict.
 */
import fc from "fast-check";
import { isJsonObject, type JsonObject } from "../../../../src/meta/json.ts";
import type { FieldSchema, StructSchema } from "../../../../src/objects/schema.ts";
import {
  itemKey,
  itemSchema,
  listKeys,
  memberSchema,
  rootSchema,
} from "../../../../src/objects/managed-fields/shape.ts";

const TEXTS = fc.constantFrom("a", "b", "c", "a/b", "é");
const DEPTH = 8;
/**
 * Fields that the objects do not contain: `status` cannot be applied through the main resource, and no field manager
 * owns the others.
 */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "status",
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "selfLink",
  "generation",
  "resourceVersion",
  "managedFields",
]);

export function appliableObjects(schema: StructSchema, identity: JsonObject): fc.Arbitrary<JsonObject> {
  return membersOf(schema, { depth: DEPTH, leftOut: LEFT_OUT }).map((object) => ({
    ...withUniqueItems(object, rootSchema(schema)),
    ...identity,
  }));
}

function membersOf(
  struct: StructSchema,
  { depth, leftOut }: { readonly depth: number; readonly leftOut: ReadonlySet<string> },
): fc.Arbitrary<JsonObject> {
  const members = [...struct.fields].filter(([name]) => !leftOut.has(name) && name !== "apiVersion" && name !== "kind");
  return fc
    .subarray(members, { maxLength: Math.min(members.length, 6) })
    .chain((some) =>
      fc.record(
        Object.fromEntries(
          some.map(([name, field]) => [name, valuesOf(field, { depth: depth - 1, isMetadata: name === "metadata" })]),
        ),
      ),
    );
}

function valuesOf(
  field: FieldSchema,
  { depth, isMetadata = false }: { readonly depth: number; readonly isMetadata?: boolean },
): fc.Arbitrary<unknown> {
  const { struct, items } = field;
  switch (field.type) {
    case "struct":
      return struct === undefined || depth <= 0
        ? fc.constant({})
        : membersOf(struct, { depth, leftOut: isMetadata ? LEFT_OUT : new Set() });
    case "array":
      return items === undefined || depth <= 0
        ? fc.constant([])
        : fc.array(valuesOf(items, { depth: depth - 1 }), { maxLength: 4 });
    case "map":
      return items === undefined || depth <= 0
        ? fc.constantFrom({}, { a: "1" })
        : fc.dictionary(TEXTS, valuesOf(items, { depth: depth - 1 }), { maxKeys: 3 });
    case "any":
      return fc.constantFrom<unknown>({}, { b: { a: [] } }, { b: { c: 1 } }, [1], "x");
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return fc.constantFrom(0, 80, 443);
    default:
      return field.intOrString ? fc.constantFrom<unknown>("a", 80) : TEXTS;
  }
}

function withUniqueItems<T>(value: T, schema: FieldSchema): T {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => withUniqueItems(item, itemSchema(schema)));
    const keys = listKeys(schema);
    if (keys === undefined) return items as T;
    return [...new Map(items.map((item) => [itemKey(item, schema, keys), item])).values()] as T;
  }
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    withUniqueItems(member, memberSchema(schema, name)),
  ]);
  return Object.fromEntries(members) as T;
}

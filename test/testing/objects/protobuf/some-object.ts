/** Generates objects with some fields of a schema set to valid values, including zero values and unusual texts. */
import fc from "fast-check";
import { modelName } from "../../../../src/objects/catalog/schema-source.ts";
import { setMember, type JsonObject } from "../../../../src/meta/json.ts";
import type { FieldSchema, StructSchema } from "../../../../src/objects/schema.ts";

type Draw = fc.GeneratorValue;

/** Maximum number of fields per struct; more would take long without finding more errors. */
const FIELDS_MAX = 4;
const FIELDS_MIN = 2;
const ITEMS_MAX = 2;
const DEPTH_MAX = 9;
const YEAR_2100 = 4_102_444_800;

const TEXT = fc.oneof(
  fc.constantFrom("", "a", "kube-system", "é", "😀 and more", "\ud800", "\u0000", "x".repeat(200), "ü".repeat(100)),
  fc.string({ unit: "binary" }),
);
const KEY = fc.oneof(TEXT, fc.constantFrom("__proto__", "example.com/name", "1"));
const ANYTHING = fc.constantFrom<unknown>({ a: [1, { b: "é" }] }, [], "text", 7, true, { "f:metadata": { ".": {} } });
const QUANTITY = fc.constantFrom("0", "1", "500m", "128Mi");
const INT_OR_STRING = fc.constantFrom<unknown>(0, -1, 8080, "http", "25%", "");
const SCHEMA = { type: "string" };

const ODD_VALUES: ReadonlyMap<string, fc.Arbitrary<unknown>> = new Map<string, fc.Arbitrary<unknown>>([
  ["MicroTime", times().map((time) => time.replace("Z", ".000007Z"))],
  ["FieldsV1", fc.constantFrom({}, { "f:spec": { "f:replicas": {} } })],
  ["JSONSchemaPropsOrArray", fc.constantFrom<unknown>(SCHEMA, [SCHEMA, {}])],
  ["JSONSchemaPropsOrBool", fc.constantFrom<unknown>(SCHEMA, true, false)],
  ["JSONSchemaPropsOrStringArray", fc.constantFrom<unknown>(SCHEMA, ["a", ""])],
]);

function times(): fc.Arbitrary<string> {
  return fc
    .integer({ min: -YEAR_2100, max: YEAR_2100 })
    .map((seconds) => new Date(seconds * 1000).toISOString().replace(".000Z", "Z"));
}

export function someObject(draw: Draw, schema: StructSchema, depth = 0): JsonObject {
  const object: JsonObject = {};
  const names = [...schema.fields.keys()].filter((name) => name !== "kind" && name !== "apiVersion");
  const length = { minLength: Math.min(FIELDS_MIN, names.length), maxLength: Math.min(FIELDS_MAX, names.length) };
  for (const name of draw(fc.subarray, names, length)) {
    object[name] = someValue(draw, schema.fields.get(name)!, depth + 1);
  }
  return object;
}

function someValue(draw: Draw, field: FieldSchema, depth: number): unknown {
  const odd = ODD_VALUES.get(modelName(field)?.split(".").at(-1) ?? "");
  if (odd !== undefined) return draw(() => odd);
  if (field.quantity) return draw(() => QUANTITY);
  if (field.intOrString) return draw(() => INT_OR_STRING);
  switch (field.type) {
    case "struct":
      return field.struct === undefined || depth > DEPTH_MAX ? {} : someObject(draw, field.struct, depth);
    case "array":
      return someItems(draw, field, depth);
    case "map":
      return someMap(draw, field, depth);
    case "any":
      return draw(() => ANYTHING);
    default:
      return draw(() => scalars(field));
  }
}

function someItems(draw: Draw, { items }: FieldSchema, depth: number): unknown[] {
  const length = items === undefined ? 0 : draw(fc.nat, { max: ITEMS_MAX });
  return Array.from({ length }, () => someValue(draw, items!, depth + 1));
}

function someMap(draw: Draw, field: FieldSchema, depth: number): JsonObject {
  const map: JsonObject = {};
  for (const value of someItems(draw, field, depth)) setMember(map, draw(() => KEY).toWellFormed(), value);
  return map;
}

function scalars(field: FieldSchema): fc.Arbitrary<unknown> {
  if (field.type === "boolean") return fc.boolean();
  if (field.type === "number") return fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
  if (field.type === "integer") return field.format === "int32" ? fc.integer() : fc.maxSafeInteger();
  if (field.format === "date-time") return times();
  if (field.format === "byte") return fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("base64"));
  return TEXT.map((text) => text.toWellFormed());
}

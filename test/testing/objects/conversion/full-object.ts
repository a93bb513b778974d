/**
 * Creates objects with every field of a schema set, to distinct values where the type allows it, for tests that no
 * conversion loses a field.
 */
import { formatGroupVersion, type GroupVersion } from "../../../../src/meta/group-version.ts";
import type { JsonObject } from "../../../../src/meta/json.ts";
import type { FieldSchema, StructSchema } from "../../../../src/objects/schema.ts";

/** Map keys that no schema or conversion uses. */
const MAP_KEYS: readonly string[] = Object.freeze(["example.com/first", "example.com/second"]);

interface Filler {
  /** The next number; every text and number of the object contains another one. */
  next(): number;
}

interface Place {
  readonly name: string;
  /** The enclosing structs. A struct within itself is left out. */
  readonly around: readonly StructSchema[];
  /** Index in the innermost list or map; 0 outside of lists and maps. */
  readonly position: number;
}

export function fullObject(schema: StructSchema, gvk: GroupVersion & { readonly kind: string }): JsonObject {
  let count = 0;
  const filler: Filler = { next: () => (count += 1) };
  const { kind, group, version } = gvk;
  return {
    ...fillStruct(filler, schema, { name: kind, around: [], position: 0 }),
    kind,
    apiVersion: formatGroupVersion({ group, version }),
  };
}

function fillStruct(filler: Filler, schema: StructSchema, place: Place): JsonObject {
  const around = [...place.around, schema];
  const object: JsonObject = {};
  for (const [name, field] of schema.fields) {
    const value = fillField(filler, field, { name, around, position: 0 });
    if (value !== undefined) object[name] = value;
  }
  return object;
}

/** The form in which Go writes a quantity; another form would differ after a server has decoded and encoded it. */
function canonicalQuantity(amount: number): string {
  return amount % 1000 === 0 ? `${amount / 1000}k` : `${amount}`;
}

function fillField(filler: Filler, field: FieldSchema, place: Place): unknown {
  if (field.quantity) return canonicalQuantity(filler.next());
  if (field.intOrString) return filler.next();
  switch (field.type) {
    case "struct":
      return fillStructField(filler, field, place);
    case "array":
      return fillEach(filler, field, place)?.map(([, value]) => value);
    case "map":
      return fillMap(filler, field, place);
    case "string":
      return fillString(filler, field, place);
    case "integer":
    case "number":
      return filler.next();
    case "boolean":
      return true;
    default:
      return { anything: filler.next() };
  }
}

function fillStructField(filler: Filler, field: FieldSchema, place: Place): JsonObject | undefined {
  const { struct } = field;
  if (struct === undefined || struct.fields.size === 0) return { anything: filler.next() };
  return place.around.includes(struct) ? undefined : fillStruct(filler, struct, place);
}

function fillMap(filler: Filler, field: FieldSchema, place: Place): JsonObject | undefined {
  const entries = fillEach(filler, field, place);
  return entries === undefined ? undefined : Object.fromEntries(entries);
}

function fillEach(filler: Filler, field: FieldSchema, place: Place): [string, unknown][] | undefined {
  const { items } = field;
  if (items === undefined) return [];
  const entries = MAP_KEYS.map((key, position): [string, unknown] => [
    key,
    fillField(filler, items, { ...place, position }),
  ]);
  return entries.some(([, value]) => value === undefined) ? undefined : entries;
}

function fillString(filler: Filler, field: FieldSchema, place: Place): string {
  if (field.enum !== undefined && field.enum.length > 0)
    return field.enum[place.position % field.enum.length] as string;
  const number = filler.next();
  if (field.format === "date-time")
    return new Date(Date.UTC(2024, 0, 1, 0, 0, number)).toISOString().replace(".000Z", "Z");
  if (field.format === "byte") return Buffer.from(`${place.name}-${number}`).toString("base64");
  return `${place.name}-${number}`;
}

/**
 * Decodes a parsed body against its schema as Go's decoder would: it keeps known fields and checks their types, omits
 * unknown fields and reports their paths, and treats null as absent (in lists and maps, as the zero value).
 */
import { isJsonObject, setMember, type JsonObject } from "../meta/json.ts";
import { base64Error, timeError } from "./go/go-text.ts";
import { canonicalQuantity, quantityError } from "../meta/quantity.ts";
import { ReportedPaths } from "./json/json-text.ts";
import { fillStatusItems, isEmptyCollection, isZeroScalar, zeroValue, type GoZeros } from "./go/go-zeros.ts";
import type { FieldSchema, StructSchema } from "./schema.ts";
import { unmarshalError } from "../meta/go-fmt.ts";

export interface TypedObject {
  readonly object: JsonObject;
  readonly unknownFields: readonly string[];
}

/** A value of the wrong type; the message is that of Go. */
export class TypeMismatchError extends Error {
  override readonly name = "TypeMismatchError";
}

/**
 * `zeros` decides which zeros are omitted; without it, all zeros are kept. `keepsEmpty` keeps empty lists and maps,
 * which server-side apply needs because the applier owns them.
 */
export function decodeTyped(
  value: JsonObject,
  schema: StructSchema,
  { zeros, keepsEmpty = false }: { readonly zeros?: GoZeros | undefined; readonly keepsEmpty?: boolean } = {},
): TypedObject {
  const unknownFields = new ReportedPaths();
  const walk: Walk = { unknownFields, zeros, keepsEmpty };
  const object = decodeStruct(value, { kind: "struct", struct: schema, up: undefined, name: "", walk });
  if (zeros !== undefined) fillStatusItems(object, schema, zeros);
  return { object, unknownFields: unknownFields.list() };
}

interface Walk {
  readonly unknownFields: ReportedPaths;
  readonly zeros: GoZeros | undefined;
  readonly keepsEmpty: boolean;
}

/** A struct, list or map of the body. Paths are computed only when they are reported, because few are. */
interface Place {
  readonly kind: "struct" | "array" | "map";
  /** The struct itself, or the struct whose field the list or map is. */
  readonly struct: StructSchema;
  /** The place that contains this one; undefined for the body itself. */
  readonly up: Place | undefined;
  /** The name or index in `up`. */
  readonly name: string | number;
  readonly walk: Walk;
}

/** The path of a member in field validation: `spec.ports[0].name`. */
function pathOf(place: Place, name: string | number): string {
  const above = place.up === undefined ? "" : pathOf(place.up, place.name);
  if (place.kind === "array") return `${above}[${name}]`;
  return above === "" ? String(name) : `${above}.${name}`;
}

/** The path of a member in Go's type errors: `spec.ports.name`. */
function goPathOf(place: Place, name: string | number): string {
  const above = place.up === undefined ? "" : goPathOf(place.up, place.name);
  if (place.kind !== "struct") return above;
  return above === "" ? String(name) : `${above}.${name}`;
}

function decodeStruct(value: JsonObject, place: Place): JsonObject {
  const result: JsonObject = {};
  const { struct, walk } = place;
  for (const key of Object.keys(value)) {
    const field = struct.fields.get(key);
    if (field === undefined) {
      if (struct.preserveUnknown) setMember(result, key, value[key]);
      else walk.unknownFields.add(pathOf(place, key));
      continue;
    }
    const member = value[key];
    if (member === null || member === undefined) continue;
    const decoded = decodeValue(member, field, place, key);
    if (isZeroScalar(decoded) && walk.zeros?.omits(struct, key) === true) continue;
    if (!isEmptyCollection(decoded, field) || isKeptEmpty(key, field, place)) setMember(result, key, decoded);
  }
  return result;
}

/** The field whose empty list is kept, because an empty list of managedFields clears the existing entries. */
const KEPT_WHEN_EMPTY = "managedFields";

/**
 * Whether an empty list or map is kept: if the field is required, if the caller keeps all of them, if it is
 * managedFields, or if Go always writes this top-level field. The field manager of the request then owns the field.
 */
function isKeptEmpty(key: string, field: FieldSchema, { up, struct, walk }: Place): boolean {
  if (field.required || walk.keepsEmpty || key === KEPT_WHEN_EMPTY) return true;
  return up === undefined && walk.zeros?.writesEmpty(struct, key) === true;
}

/** Decodes a member of `up`, which has this name or index. */
function decodeValue(value: unknown, schema: FieldSchema, up: Place, name: string | number): unknown {
  switch (schema.type) {
    case "struct": {
      if (!isJsonObject(value)) throw mismatch(value, schema, up, name);
      const { struct } = schema;
      return struct === undefined ? value : decodeStruct(value, { kind: "struct", struct, up, name, walk: up.walk });
    }
    case "array":
      return decodeArray(value, schema, up, name);
    case "map":
      return decodeMap(value, schema, up, name);
    case "any":
      return value;
    default: {
      const decoded = decodeScalar(value, schema);
      if (decoded === undefined) throw mismatch(value, schema, up, name);
      return decoded;
    }
  }
}

function decodeArray(value: unknown, schema: FieldSchema, up: Place, name: string | number): unknown {
  if (!Array.isArray(value)) throw mismatch(value, schema, up, name);
  const items = schema.items;
  if (items === undefined) return value;
  const place: Place = { kind: "array", struct: up.struct, up, name, walk: up.walk };
  return value.map((item, index) => (item === null ? zeroValue(items) : decodeValue(item, items, place, index)));
}

function decodeMap(value: unknown, schema: FieldSchema, up: Place, name: string | number): unknown {
  if (!isJsonObject(value)) throw mismatch(value, schema, up, name);
  const items = schema.items;
  if (items === undefined) return value;
  const place: Place = { kind: "map", struct: up.struct, up, name, walk: up.walk };
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    setMember(result, key, member === null ? zeroValue(items) : decodeValue(member, items, place, key));
  }
  return result;
}

/** Returns undefined if the value has another type. */
function decodeScalar(value: unknown, schema: FieldSchema): unknown {
  if (schema.intOrString) return typeof value === "string" || isInt32(value) ? value : undefined;
  if (schema.quantity) return decodeQuantity(value);
  switch (schema.type) {
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "integer":
      // DIFFERS: a whole number that JavaScript cannot represent exactly is rejected, because it would be stored as
      // another one.
      return typeof value === "number" && Number.isSafeInteger(value) && (schema.format !== "int32" || isInt32(value))
        ? value
        : undefined;
    case "number":
      return typeof value === "number" ? value : undefined;
    default:
      if (typeof value === "string") return decodeString(value, schema);
      return schema.format === "byte" && isByteList(value) ? Buffer.from(value).toString("base64") : undefined;
  }
}

function isInt32(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= -2147483648 && value <= 2147483647;
}

/** Whether the value is a list of numbers, which Go also accepts for bytes. */
function isByteList(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255);
}

function decodeQuantity(value: unknown): string {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : "true";
  return canonicalQuantity(checked(text, quantityError(text)));
}

function decodeString(text: string, schema: FieldSchema): string {
  if (schema.format === "byte") return checked(text, base64Error(text));
  return schema.format === "date-time" ? checked(text, timeError(text)) : text;
}

function checked(text: string, problem: string | undefined): string {
  if (problem !== undefined) throw new TypeMismatchError(problem);
  return text;
}

function mismatch(value: unknown, schema: FieldSchema, up: Place, name: string | number): TypeMismatchError {
  const structName = up.struct.name.slice(up.struct.name.lastIndexOf(".") + 1);
  const goPath = goPathOf(up, name);
  return new TypeMismatchError(
    unmarshalError(value, `struct field ${structName}.${goPath} of type ${goType(schema)}`, isNumeric(schema)),
  );
}

/**
 * Whether the field is numeric. For a numeric field, Go's message shows the number that does not fit; for other fields,
 * only the type.
 */
function isNumeric({ type, intOrString }: FieldSchema): boolean {
  return type === "integer" || type === "number" || intOrString;
}

/** The most likely Go type of a field, because a schema does not contain named string types. */
function goType(schema: FieldSchema): string {
  if (schema.intOrString) return "int32";
  switch (schema.type) {
    case "struct":
      return schema.struct === undefined ? "struct" : schema.struct.name.split(".").slice(-2).join(".");
    case "array":
      return `[]${schema.items === undefined ? "interface {}" : goType(schema.items)}`;
    case "map":
      if (schema.items?.quantity === true) return "v1.ResourceList";
      return `map[string]${schema.items === undefined ? "interface {}" : goType(schema.items)}`;
    case "integer":
      return schema.format ?? "int64";
    case "number":
      return "float64";
    case "boolean":
      return "bool";
    default:
      return schema.format === "byte" ? "[]uint8" : "string";
  }
}

/**
 * Holds a parsed body against its schema as Go's decoder would: known fields are kept and type-checked,
 * unknown ones are left out and reported by path, null counts as absent.
 */
import { isJsonObject, setMember, type JsonObject } from "../meta/json.ts";
import type { FieldSchema, StructSchema } from "./schema.ts";

export interface TypedObject {
  readonly object: JsonObject;
  readonly unknownFields: readonly string[];
}

/** A value of the wrong type; the message is Go's. */
export class TypeMismatchError extends Error {
  override readonly name = "TypeMismatchError";
}

/** Unknown fields beyond this many are dropped without being named. */
const UNKNOWN_FIELDS_MAX = 100;

export function decodeTyped(value: JsonObject, schema: StructSchema): TypedObject {
  const unknownFields: string[] = [];
  const object = decodeStruct(value, schema, { path: "", struct: schema, goPath: "", unknownFields });
  return { object, unknownFields };
}

interface Place {
  /** As field validation names it: `spec.ports[0].name`. */
  readonly path: string;
  readonly struct: StructSchema;
  /** As Go's type errors name it: `spec.ports.name`. */
  readonly goPath: string;
  readonly unknownFields: string[];
}

function decodeStruct(value: JsonObject, schema: StructSchema, place: Place): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const field = schema.fields.get(key);
    const path = place.path === "" ? key : `${place.path}.${key}`;
    if (field === undefined) {
      if (schema.preserveUnknown) setMember(result, key, value[key]);
      else if (place.unknownFields.length < UNKNOWN_FIELDS_MAX) place.unknownFields.push(path);
      continue;
    }
    const member = value[key];
    if (member === null || member === undefined) continue;
    const goPath = place.goPath === "" ? key : `${place.goPath}.${key}`;
    setMember(result, key, decodeValue(member, field, { path, struct: schema, goPath, unknownFields: place.unknownFields }));
  }
  return result;
}

function decodeValue(value: unknown, schema: FieldSchema, place: Place): unknown {
  switch (schema.type) {
    case "struct":
      if (!isJsonObject(value)) throw mismatch(value, schema, place);
      return schema.struct === undefined ? value : decodeStruct(value, schema.struct, place);
    case "array":
      return decodeArray(value, schema, place);
    case "map":
      return decodeMap(value, schema, place);
    case "any":
      return value;
    default:
      return decodeScalar(value, schema, place);
  }
}

function decodeArray(value: unknown, schema: FieldSchema, place: Place): unknown {
  if (!Array.isArray(value)) throw mismatch(value, schema, place);
  const items = schema.items;
  if (items === undefined) return value;
  return value.map((item, index) => (item === null ? zeroValue(items) : decodeValue(item, items, { ...place, path: `${place.path}[${index}]` })));
}

function decodeMap(value: unknown, schema: FieldSchema, place: Place): unknown {
  if (!isJsonObject(value)) throw mismatch(value, schema, place);
  const items = schema.items;
  if (items === undefined) return value;
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    setMember(result, key, member === null ? zeroValue(items) : decodeValue(member, items, { ...place, path: `${place.path}.${key}` }));
  }
  return result;
}

/** What Go leaves in a list or map where the text says null. */
function zeroValue(schema: FieldSchema): unknown {
  switch (schema.type) {
    case "string":
      return "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "struct":
      return {};
    default:
      return null;
  }
}

function decodeScalar(value: unknown, schema: FieldSchema, place: Place): unknown {
  if (schema.intOrString) {
    if (typeof value === "string" || isInt32(value)) return value;
    throw mismatch(value, schema, place);
  }
  if (schema.quantity) return decodeQuantity(value);
  switch (schema.type) {
    case "boolean":
      if (typeof value === "boolean") return value;
      break;
    case "integer":
      if (typeof value === "number" && Number.isInteger(value) && (schema.format !== "int32" || isInt32(value))) return value;
      break;
    case "number":
      if (typeof value === "number") return value;
      break;
    default:
      if (typeof value === "string") return schema.format === "byte" ? checkedBase64(value) : schema.format === "date-time" ? checkedTime(value) : value;
  }
  throw mismatch(value, schema, place);
}

function isInt32(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= -2147483648 && value <= 2147483647;
}

const QUANTITY = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$/;

function decodeQuantity(value: unknown): string {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text === "string" && text.length <= 100 && QUANTITY.test(text)) return text;
  throw new TypeMismatchError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

function checkedBase64(text: string): string {
  const bad = /[^A-Za-z0-9+/\r\n]/.exec(text.replace(/={1,2}$/, ""));
  const at = bad?.index ?? (text.replace(/[\r\n]/g, "").length % 4 === 0 ? -1 : text.length - (text.length % 4));
  if (at >= 0) throw new TypeMismatchError(`illegal base64 data at input byte ${at}`);
  return text;
}

const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$/;

function checkedTime(text: string): string {
  if (TIME.test(text) && !Number.isNaN(Date.parse(text))) return text;
  throw new TypeMismatchError(
    `parsing time ${JSON.stringify(text)} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(text)} as "2006"`,
  );
}

function mismatch(value: unknown, schema: FieldSchema, place: Place): TypeMismatchError {
  const structName = place.struct.name.slice(place.struct.name.lastIndexOf(".") + 1);
  return new TypeMismatchError(`json: cannot unmarshal ${goKind(value)} into Go struct field ${structName}.${place.goPath} of type ${goType(schema)}`);
}

function goKind(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "number" : `number ${value}`;
  return typeof value;
}

/** The Go type a field most likely has; named string types cannot be known from a schema. */
function goType(schema: FieldSchema): string {
  switch (schema.type) {
    case "struct":
      return schema.struct === undefined ? "struct" : schema.struct.name.split(".").slice(-2).join(".");
    case "array":
      return `[]${schema.items === undefined ? "interface {}" : goType(schema.items)}`;
    case "map":
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

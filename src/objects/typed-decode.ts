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
  const object = decodeStruct(value, schema, {
    path: "",
    struct: schema,
    goPath: "",
    unknownFields,
    zeros,
    keepsEmpty,
  });
  if (zeros !== undefined) fillStatusItems(object, schema, zeros);
  return { object, unknownFields: unknownFields.list() };
}

interface Place {
  /** The path in field validation: `spec.ports[0].name`. */
  readonly path: string;
  readonly struct: StructSchema;
  /** The path in Go's type errors: `spec.ports.name`. */
  readonly goPath: string;
  readonly unknownFields: ReportedPaths;
  readonly zeros: GoZeros | undefined;
  readonly keepsEmpty: boolean;
}

function decodeStruct(value: JsonObject, schema: StructSchema, place: Place): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const field = schema.fields.get(key);
    const path = place.path === "" ? key : `${place.path}.${key}`;
    if (field === undefined) {
      if (schema.preserveUnknown) setMember(result, key, value[key]);
      else place.unknownFields.add(path);
      continue;
    }
    const member = value[key];
    if (member === null || member === undefined) continue;
    const goPath = place.goPath === "" ? key : `${place.goPath}.${key}`;
    const decoded = decodeValue(member, field, { ...place, path, struct: schema, goPath });
    if (isZeroScalar(decoded) && place.zeros?.omits(schema, key) === true) continue;
    if (!isEmptyCollection(decoded, field) || isKeptEmpty(key, field, { ...place, struct: schema }))
      setMember(result, key, decoded);
  }
  return result;
}

/** The field whose empty list is kept, because an empty list of managedFields clears the existing entries. */
const KEPT_WHEN_EMPTY = "managedFields";

/**
 * Whether an empty list or map is kept: if the field is required, if the caller keeps all of them, if it is
 * managedFields, or if Go always writes this top-level field. The field manager of the request then owns the field.
 */
function isKeptEmpty(key: string, field: FieldSchema, { goPath, struct, zeros, keepsEmpty }: Place): boolean {
  if (field.required || keepsEmpty || key === KEPT_WHEN_EMPTY) return true;
  return goPath === "" && zeros?.writesEmpty(struct, key) === true;
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
  return value.map((item, index) =>
    item === null ? zeroValue(items) : decodeValue(item, items, { ...place, path: `${place.path}[${index}]` }),
  );
}

function decodeMap(value: unknown, schema: FieldSchema, place: Place): unknown {
  if (!isJsonObject(value)) throw mismatch(value, schema, place);
  const items = schema.items;
  if (items === undefined) return value;
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    setMember(
      result,
      key,
      member === null ? zeroValue(items) : decodeValue(member, items, { ...place, path: `${place.path}.${key}` }),
    );
  }
  return result;
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
      // DIFFERS: a whole number that JavaScript cannot represent exactly is rejected, because it would be stored as
      // another one.
      if (typeof value === "number" && Number.isSafeInteger(value) && (schema.format !== "int32" || isInt32(value)))
        return value;
      break;
    case "number":
      if (typeof value === "number") return value;
      break;
    default:
      if (typeof value === "string") return decodeString(value, schema);
      if (schema.format === "byte" && isByteList(value)) return Buffer.from(value).toString("base64");
  }
  throw mismatch(value, schema, place);
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

function mismatch(value: unknown, schema: FieldSchema, place: Place): TypeMismatchError {
  const structName = place.struct.name.slice(place.struct.name.lastIndexOf(".") + 1);
  return new TypeMismatchError(
    unmarshalError(value, `struct field ${structName}.${place.goPath} of type ${goType(schema)}`, isNumeric(schema)),
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

/**
 * Finds Kubernetes' error message for a patched object whose values have the wrong types. After a patch, Go converts
 * the object from maps instead of JSON text, so that its messages differ from those of decoding.
 */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { base64Error, timeError } from "../go/go-text.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { goType, unmarshalError } from "../../meta/go-fmt.ts";
import { quantityError } from "../../meta/quantity.ts";

/** The first message; undefined if there is none. Called only if the object is known to be invalid. */
export function unstructuredError(object: JsonObject, schema: StructSchema): string | undefined {
  for (const [key, field] of schema.fields) {
    const error = Object.hasOwn(object, key) ? valueError(object[key], field) : undefined;
    if (error !== undefined) return error;
  }
  return undefined;
}

function valueError(value: unknown, field: FieldSchema): string | undefined {
  if (value === null || field.type === "any") return undefined;
  const { struct, items, type } = field;
  if (type === "struct") {
    if (!isJsonObject(value)) return `cannot restore struct from: ${goKind(value)}`;
    return struct && unstructuredError(value, struct);
  }
  if (type === "map") {
    return isJsonObject(value) ? firstError(Object.values(value), items) : `cannot restore map from ${goKind(value)}`;
  }
  if (type === "array") {
    return Array.isArray(value) ? firstError(value, items) : `cannot restore slice from ${goKind(value)}`;
  }
  return scalarError(value, field);
}

function firstError(values: readonly unknown[], items: FieldSchema | undefined): string | undefined {
  if (items === undefined) return undefined;
  for (const value of values) {
    const error = valueError(value, items);
    if (error !== undefined) return error;
  }
  return undefined;
}

function scalarError(value: unknown, field: FieldSchema): string | undefined {
  if (field.intOrString) return intOrStringError(value);
  if (field.quantity) return quantityError(typeof value === "string" ? value.trim() : String(value));
  switch (field.type) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "unrecognized type: bool";
    case "integer":
      return integerError(value, field.format ?? "int64");
    case "number":
      return typeof value === "number" ? undefined : "unrecognized type: float64";
    default:
      return stringError(value, field.format);
  }
}

function integerError(value: unknown, type: string): string | undefined {
  if (typeof value !== "number") return `unrecognized type: ${type}`;
  return Number.isInteger(value) ? undefined : `cannot convert float64 to ${type}`;
}

function stringError(value: unknown, format: string | undefined): string | undefined {
  if (format === "date-time") {
    if (typeof value === "string") return timeError(value);
    return unmarshalError(value, "value of type string");
  }
  if (format === "byte") {
    if (typeof value !== "string") return `cannot restore slice from ${goKind(value)}`;
    const error = base64Error(value);
    return error && `error decoding from json: ${error}`;
  }
  if (typeof value === "string") return undefined;
  // As kubernetes: Go would convert a whole number to a character, so only whole numbers have this message.
  return Number.isInteger(value) ? "cannot convert int64 to string" : "unrecognized type: string";
}

function intOrStringError(value: unknown): string | undefined {
  if (typeof value === "string" || Number.isInteger(value)) return undefined;
  return unmarshalError(value, "value of type int32", true);
}

function goKind(value: unknown): string {
  if (value === null) return "%!s(<nil>)";
  if (Array.isArray(value)) return "slice";
  return isJsonObject(value) ? "map" : goType(value);
}

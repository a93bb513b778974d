/**
 * Omits and adds zero values as Go does. In Go a field that is not a pointer is zero if it is not set, and JSON omits
 * the zero of an `omitempty` field: `paused: false` is the same as no value. The protobuf tables list these fields.
 */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import type { FieldTable, MessageTable, ProtobufTables } from "../protobuf/tables.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";

export interface GoZeros {
  /** Whether a field with its zero value is the same as an absent field. */
  omits(struct: StructSchema, field: string): boolean;
  /** Whether an empty list or map is written (as null). */
  writesEmpty(struct: StructSchema, field: string): boolean;
  /** Adds the zeros that Go always writes for a struct, in place. */
  fill(object: JsonObject, struct: StructSchema): void;
}

/** `tables` is called only when a function of the result needs the tables. */
export function goZeros(tables: () => ProtobufTables): GoZeros {
  return {
    omits: (struct, name) => {
      const field = findField(messageOf(struct, tables()), name, tables());
      return field !== undefined && field.shape === "value" && field.omitEmpty && field.scalar !== undefined;
    },
    writesEmpty: (struct, name) => {
      const field = findField(messageOf(struct, tables()), name, tables());
      return field !== undefined && (field.shape === "list" || field.shape === "map") && !field.omitEmpty;
    },
    fill: (object, struct) => {
      const opened = tables();
      for (const name of struct.fields.keys()) {
        if (object[name] !== undefined) continue;
        const field = findField(messageOf(struct, opened), name, opened);
        const zero = field === undefined ? undefined : writtenZero(field, opened);
        if (zero !== undefined) object[name] = zero;
      }
    },
  };
}

export function isZeroScalar(value: unknown): boolean {
  return value === "" || value === 0 || value === false;
}

const MODEL_PREFIX = "io.k8s.";

/** The message of a struct: `k8s.io.api.core.v1.PodSpec` for `io.k8s.api.core.v1.PodSpec`. */
function messageOf({ name }: StructSchema, tables: ProtobufTables): MessageTable | undefined {
  if (!name.startsWith(MODEL_PREFIX)) return undefined;
  return tables.message(`k8s.io.${name.slice(MODEL_PREFIX.length).replaceAll("-", "_")}`);
}

function findField(message: MessageTable | undefined, name: string, tables: ProtobufTables): FieldTable | undefined {
  for (const field of message?.fields ?? []) {
    if (field.name === name) return field;
    if (field.shape !== "inline") continue;
    const found = findField(tables.message(field.message ?? ""), name, tables);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The zero that Go writes for an absent field; undefined if Go writes nothing, or a value other than a scalar or null.
 */
function writtenZero(field: FieldTable, tables: ProtobufTables): unknown {
  if (field.shape !== "value") return field.omitEmpty ? undefined : null;
  const form = field.message === undefined ? undefined : tables.message(field.message)?.form;
  // Times are written even if they are `omitempty`: Go does not treat a struct as empty.
  if (form === "time" || form === "micro-time") return null;
  if (field.omitEmpty) return undefined;
  switch (field.scalar) {
    case "string":
      return "";
    case "bool":
      return false;
    case "int32":
    case "int64":
      return 0;
    default:
      return undefined;
  }
}

/** Removes the zeros, empty lists and empty maps that Go does not write, in place. */
export function omitZeros(object: JsonObject, schema: StructSchema, zeros: GoZeros): void {
  for (const [name, field] of schema.fields) {
    const value = object[name];
    if (isZeroScalar(value)) {
      if (zeros.omits(schema, name)) delete object[name];
    } else if (isEmptyCollection(value, field)) {
      if (!field.required && !zeros.writesEmpty(schema, name)) delete object[name];
    } else omitZerosBelow(value, field, zeros);
  }
}

/** As kubernetes: an optional empty list or map is absent. */
export function isEmptyCollection(value: unknown, { type }: FieldSchema): boolean {
  if (type === "array") return Array.isArray(value) && value.length === 0;
  return type === "map" && isJsonObject(value) && Object.keys(value).length === 0;
}

function omitZerosBelow(value: unknown, { struct, items }: FieldSchema, zeros: GoZeros): void {
  if (typeof value !== "object" || value === null) return;
  if (struct !== undefined) {
    if (isJsonObject(value)) omitZeros(value, struct, zeros);
  } else if (items !== undefined) {
    for (const item of Object.values(value)) omitZerosBelow(item, items, zeros);
  }
}

/**
 * Adds the fields that Go always writes to the items of lists in the status, in place: for example to conditions, whose
 * unknown times are null. The rules of each kind add all other fields that Go always writes.
 */
export function fillStatusItems(object: JsonObject, schema: StructSchema, zeros: GoZeros): void {
  const status = object["status"];
  const struct = schema.fields.get("status")?.struct;
  if (isJsonObject(status) && struct !== undefined) fillBelow(status, struct, zeros);
}

function fillBelow(object: JsonObject, struct: StructSchema, zeros: GoZeros): void {
  for (const name of Object.keys(object)) {
    const value = object[name];
    const field = struct.fields.get(name);
    if (field?.struct !== undefined && isJsonObject(value)) fillBelow(value, field.struct, zeros);
    const item = field?.items?.struct;
    if (item === undefined || !Array.isArray(value)) continue;
    for (const one of value.filter(isJsonObject)) {
      fillBelow(one, item, zeros);
      zeros.fill(one, item);
    }
  }
}

/** The value that Go stores in a list or map for null. */
export function zeroValue(schema: FieldSchema): unknown {
  if (schema.quantity) return "0";
  if (schema.intOrString) return 0;
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

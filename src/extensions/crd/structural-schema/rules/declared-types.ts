/** Derives the CEL types of schemas, and the maximum sizes of their values, from which costs are estimated. */
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  STRING,
  struct,
  TIMESTAMP,
  type Type,
} from "../../../../objects/cel/types/type.ts";
import type { StructuralSchema } from "../schema.ts";
import { escapeName, isReserved } from "../../../../objects/cel/escaping.ts";
import { withTypeAndObjectMeta } from "./resource-root.ts";

export interface DeclaredType {
  readonly type: Type;
  /** Maximum number of elements of a list, entries of a map, or bytes of a string. */
  readonly elementsMax: number;
  /** Minimum size of a value in bytes, when encoded as JSON. */
  readonly bytesMin: number;
  /** Types of the fields of an object, by the escaped name that CEL uses. */
  readonly fields?: ReadonlyMap<string, DeclaredType>;
  readonly key?: DeclaredType;
  /** Type of the elements of a list or the values of a map. */
  readonly element?: DeclaredType;
}

/** Name of the type of `self` in messages. DIFFERS: kubernetes appends a random number. */
export const SELF_TYPE = "selfType";

export const REQUEST_BYTES_MAX = 3 * 1024 * 1024;
const TIME_BYTES_MAX = 32;
const DATE_BYTES = 12;
const DATE_TIME_BYTES_MIN = 21;
const DURATION_BYTES_MIN = 3;
const STRING_BYTES_MIN = 2;
const BOOL_BYTES_MIN = 4;
const BYTES_PER_CHARACTER = 4;
/** Bytes that quotes, colon and comma add to an entry of a map in JSON. */
const ENTRY_BYTES = 6;

const KEY: DeclaredType = { type: STRING, elementsMax: 0, bytesMin: STRING_BYTES_MIN };

function simple(type: Type, bytesMin: number, elementsMax = 0): DeclaredType {
  return { type, bytesMin, elementsMax };
}

function atLeastZero(value: number): number {
  return Math.max(0, value);
}

function stringType(schema: StructuralSchema): DeclaredType {
  const { format, maxLength, enum: values } = schema.value;
  switch (format) {
    case "byte":
      return simple(BYTES, STRING_BYTES_MIN, maxLength === undefined ? REQUEST_BYTES_MAX - 2 : atLeastZero(maxLength));
    case "duration":
      return simple(DURATION, DURATION_BYTES_MIN, TIME_BYTES_MAX);
    case "date":
      return simple(TIMESTAMP, DATE_BYTES, DATE_BYTES);
    case "date-time":
      return simple(TIMESTAMP, DATE_TIME_BYTES_MIN, TIME_BYTES_MAX);
    default:
  }
  if (maxLength !== undefined) return simple(STRING, STRING_BYTES_MIN, atLeastZero(maxLength) * BYTES_PER_CHARACTER);
  if (values === undefined || values.length === 0) return simple(STRING, STRING_BYTES_MIN, REQUEST_BYTES_MAX - 2);
  return simple(STRING, STRING_BYTES_MIN, longest(values));
}

function longest(values: readonly unknown[]): number {
  let length = 0;
  for (const value of values) if (typeof value === "string") length = Math.max(length, Buffer.byteLength(value));
  return length;
}

function intOrString(schema: StructuralSchema): DeclaredType {
  const { maxLength } = schema.value;
  const elementsMax = maxLength === undefined ? REQUEST_BYTES_MAX - 2 : atLeastZero(maxLength) * BYTES_PER_CHARACTER;
  return simple(DYN, 1, elementsMax);
}

function listType(schema: StructuralSchema, name: string): DeclaredType | undefined {
  if (schema.items === undefined) return undefined;
  const element = declaredType(schema.items, schema.items.embeddedResource, `${name}.@idx`);
  if (element === undefined) return undefined;
  const { maxItems } = schema.value;
  const elementsMax =
    maxItems === undefined ? Math.floor((REQUEST_BYTES_MAX - 2) / (element.bytesMin + 1)) : atLeastZero(maxItems);
  return { type: listOf(element.type), elementsMax, bytesMin: 2, element };
}

function mapType(schema: StructuralSchema, values: StructuralSchema, name: string): DeclaredType | undefined {
  const element = declaredType(values, values.embeddedResource, `${name}.@elem`);
  if (element === undefined) return undefined;
  const { maxProperties } = schema.value;
  const elementsMax =
    maxProperties === undefined
      ? Math.floor((REQUEST_BYTES_MAX - 2) / (element.bytesMin + ENTRY_BYTES))
      : atLeastZero(maxProperties);
  return { type: mapOf(STRING, element.type), elementsMax, bytesMin: 2, key: KEY, element };
}

function objectType(schema: StructuralSchema, name: string): DeclaredType {
  const fields = new Map<string, DeclaredType>();
  const required = new Set(schema.value.required);
  let bytesMin = 2;
  for (const [property, propertySchema] of schema.properties) {
    const escaped = escapeName(property);
    const type = declaredType(propertySchema, propertySchema.embeddedResource, `${name}.${escaped ?? property}`);
    if (type === undefined) continue;
    if (escaped !== undefined) fields.set(escaped, type);
    const isWritten = required.has(property) && (propertySchema.default ?? null) === null;
    if (isWritten) bytesMin += Buffer.byteLength(property) + type.bytesMin + 4;
  }
  const types = new Map([...fields].map(([field, { type }]) => [field, type]));
  for (const property of schema.properties.keys()) {
    const declared = isReserved(property) ? fields.get(`__${property}__`) : undefined;
    if (declared !== undefined) types.set(property, declared.type);
  }
  return { type: struct(name, types), elementsMax: 0, bytesMin, fields };
}

/** Undefined if CEL cannot represent the values of the schema. */
export function declaredType(
  schema: StructuralSchema,
  isResourceRoot: boolean,
  name: string,
): DeclaredType | undefined {
  if (schema.intOrString) return intOrString(schema);
  const whole = isResourceRoot ? withTypeAndObjectMeta(schema) : schema;
  switch (whole.type) {
    case "array":
      return listType(whole, name);
    case "object":
      return typeof whole.additionalProperties === "object"
        ? mapType(whole, whole.additionalProperties, name)
        : objectType(whole, name);
    case "string":
      return stringType(whole);
    case "boolean":
      return simple(BOOL, BOOL_BYTES_MIN);
    case "number":
      return simple(DOUBLE, 1);
    case "integer":
      return simple(INT, 1);
    default:
      return undefined;
  }
}

/**
 * Decodes a schema as Go's decoder does: unknown fields are dropped, and values of the wrong type are rejected. The
 * typed decoding of the CRD, which runs before, does not descend into fields with several possible types, such as
 * items.
 */
import { isJsonObject, setMember, type JsonObject } from "../../../meta/json.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { isMemberSet, SCHEMA_MEMBERS, type MemberKind } from "./schema-members.ts";
import { unmarshalError } from "../../../meta/go-fmt.ts";

/** Schemas below this depth are not decoded, because validation rejects such a CRD. */
const DEPTH_MAX = 600;

interface Place {
  /** The path in Go's messages, which does not contain the names of properties. */
  readonly path: string;
  readonly depth: number;
}

export function readSchema(schema: JsonObject): JsonObject {
  return readProps(schema, { path: "spec.versions.schema.openAPIV3Schema", depth: 0 });
}

function readProps(schema: JsonObject, { path, depth }: Place): JsonObject {
  if (depth > DEPTH_MAX) return schema;
  const read: JsonObject = {};
  for (const member of SCHEMA_MEMBERS) {
    const [, key, kind] = member;
    const value = schema[key];
    if (value === undefined || value === null) continue;
    const kept = READERS[kind](value, { path: `${path}.${key}`, depth: depth + 1 });
    if (kept !== undefined && isMemberSet({ [key]: kept }, member)) read[key] = kept;
  }
  return read;
}

type Reader = (value: unknown, place: Place) => unknown;

const READERS: Readonly<Record<MemberKind, Reader>> = {
  string: readString,
  "optional-string": readString,
  boolean: readBoolean,
  "optional-boolean": readBoolean,
  number: (value, place) => (typeof value === "number" ? value : refuse(value, "float64", place)),
  integer: (value, place) => (Number.isSafeInteger(value) ? value : refuse(value, "int64", place)),
  any: (value) => value,
  anys: (value, place) => readList(value, place, { item: (one) => one, zero: null, type: "[]v1.JSON" }),
  strings: (value, place) => readList(value, place, { item: readString, zero: "", type: "[]string" }),
  schema: readSchemaMember,
  schemas: (value, place) => readList(value, place, { item: readSchemaMember, zero: {}, type: "[]v1.JSONSchemaProps" }),
  "schema-map": (value, place) =>
    readMap(value, place, { item: readSchemaMember, type: "map[string]v1.JSONSchemaProps" }),
  definitions: (value, place) => readMap(value, place, { item: readSchemaMember, type: "v1.JSONSchemaDefinitions" }),
  "schema-or-list": readItems,
  "schema-or-boolean": readSchemaOrBoolean,
  dependencies: (value, place) => readMap(value, place, { item: readDependency, type: "v1.JSONSchemaDependencies" }),
  documentation: (value, place) =>
    readStruct(value, place, {
      type: "v1.ExternalDocumentation",
      members: { description: readString, url: readString },
    }),
  rules: (value, place) => readList(value, place, { item: readRule, zero: {}, type: "v1.ValidationRules" }),
};

function readString(value: unknown, place: Place): unknown {
  return typeof value === "string" ? value : refuse(value, "string", place);
}

function readBoolean(value: unknown, place: Place): unknown {
  return typeof value === "boolean" ? value : refuse(value, "bool", place);
}

function readSchemaMember(value: unknown, place: Place): unknown {
  return isJsonObject(value) ? readProps(value, place) : refuse(value, "v1.JSONSchemaProps", place);
}

/** As kubernetes: a value that is neither a schema nor a list of schemas is treated as absent. */
function readItems(value: unknown, place: Place): unknown {
  if (isJsonObject(value)) return readProps(value, place);
  return Array.isArray(value) ? READERS.schemas(value, place) : undefined;
}

function readSchemaOrBoolean(value: unknown, place: Place): unknown {
  if (isJsonObject(value)) return readProps(value, place);
  return typeof value === "boolean" ? value : fail("boolean or JSON schema expected");
}

function readDependency(value: unknown, place: Place): unknown {
  if (isJsonObject(value)) return readProps(value, place);
  return Array.isArray(value) ? READERS.strings(value, place) : null;
}

const RULE_MEMBERS: Readonly<Record<string, Reader>> = {
  rule: readString,
  message: readString,
  messageExpression: readString,
  reason: readString,
  fieldPath: readString,
  optionalOldSelf: readBoolean,
};

function readRule(value: unknown, place: Place): unknown {
  return { rule: "", ...readStruct(value, place, { type: "v1.ValidationRule", members: RULE_MEMBERS }) };
}

interface ListOf {
  readonly item: Reader;
  /** The value to which an item that is null is decoded. */
  readonly zero: unknown;
  readonly type: string;
}

function readList(value: unknown, place: Place, { item, zero, type }: ListOf): unknown {
  if (!Array.isArray(value)) return refuse(value, type, place);
  return value.map((one: unknown) => (one === null ? zero : item(one, place)));
}

function readMap(value: unknown, place: Place, { item, type }: { item: Reader; type: string }): unknown {
  if (!isJsonObject(value)) return refuse(value, type, place);
  const read: JsonObject = {};
  for (const key of Object.keys(value)) setMember(read, key, value[key] === null ? {} : item(value[key], place));
  return read;
}

interface StructOf {
  readonly type: string;
  readonly members: Readonly<Record<string, Reader>>;
}

function readStruct(value: unknown, place: Place, { type, members }: StructOf): JsonObject {
  if (!isJsonObject(value)) return refuse(value, type, place);
  const read: JsonObject = {};
  for (const [key, reader] of Object.entries(members)) {
    const member = value[key];
    if (member === undefined || member === null || member === "") continue;
    read[key] = reader(member, { path: `${place.path}.${key}`, depth: place.depth });
  }
  return read;
}

function refuse(value: unknown, type: string, { path }: Place): never {
  const isNumeric = type === "int64" || type === "float64";
  return fail(unmarshalError(value, `struct field JSONSchemaProps.${path} of type ${type}`, isNumeric));
}

function fail(why: string): never {
  throw new StatusError(
    "BadRequest",
    `CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: ${why}`,
  );
}

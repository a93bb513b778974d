/**
 * Selects the fields of a CRD schema that OpenAPI publishes as written. Fields without an effect are omitted. Junctors
 * are allOf, anyOf, oneOf and not.
 */
import { isJsonObject, jsonEquals, objectAt, setMember, type JsonObject } from "../../../meta/json.ts";

const ALWAYS = (): boolean => true;
const isNotEmpty = (value: unknown): boolean => Array.isArray(value) && value.length > 0;
const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const isTrue = (value: unknown): boolean => value === true;
const isNumber = (value: unknown): boolean => typeof value === "number";

/** The published fields of a schema, each with the condition under which its value has an effect. */
const MEMBERS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["description", isText],
  ["type", isText],
  ["format", isText],
  ["title", isText],
  ["maximum", isNumber],
  ["exclusiveMaximum", isTrue],
  ["minimum", isNumber],
  ["exclusiveMinimum", isTrue],
  ["maxLength", isNumber],
  ["minLength", isNumber],
  ["pattern", isText],
  ["maxItems", isNumber],
  ["minItems", isNumber],
  ["uniqueItems", isTrue],
  ["multipleOf", isNumber],
  ["enum", isNotEmpty],
  ["maxProperties", isNumber],
  ["minProperties", isNumber],
  ["required", isNotEmpty],
  ["externalDocs", isJsonObject],
  ["example", ALWAYS],
  ["x-kubernetes-preserve-unknown-fields", isTrue],
  ["x-kubernetes-embedded-resource", isTrue],
  ["x-kubernetes-int-or-string", isTrue],
  ["x-kubernetes-list-map-keys", isNotEmpty],
  ["x-kubernetes-list-type", isText],
  ["x-kubernetes-map-type", isText],
  ["x-kubernetes-validations", isNotEmpty],
]);

/** The published fields of a schema, without defaults, nullable, junctors and nested schemas. */
export function sharedMembers(raw: JsonObject): JsonObject {
  const members: JsonObject = {};
  for (const name of Object.keys(raw)) {
    const value = raw[name];
    if (value !== undefined && value !== null && MEMBERS.get(name)?.(value) === true) members[name] = value;
  }
  return members;
}

type NestedMember = "allOf" | "anyOf" | "oneOf" | "not" | "items" | "properties";
const NESTED_MEMBERS: readonly NestedMember[] = ["allOf", "anyOf", "oneOf", "not", "items", "properties"];

/**
 * The given nested schemas of a schema, and everything below them. As kubernetes: additionalProperties below them is
 * omitted.
 */
export function nestedSchema(raw: JsonObject, names: readonly NestedMember[]): JsonObject {
  const schema: JsonObject = {};
  for (const name of names) {
    const value = raw[name];
    if (name === "properties") addProperties(schema, value);
    else if (Array.isArray(value) && value.length > 0) schema[name] = value.filter(isJsonObject).map(valueSchema);
    else if (isJsonObject(value)) schema[name] = valueSchema(value);
  }
  return schema;
}

function addProperties(schema: JsonObject, value: unknown): void {
  const names = isJsonObject(value) ? Object.keys(value) : [];
  if (!isJsonObject(value) || names.length === 0) return;
  const properties: JsonObject = {};
  for (const name of names) setMember(properties, name, valueSchema(objectAt(value, name)));
  schema["properties"] = properties;
}

function valueSchema(raw: JsonObject): JsonObject {
  const nullable = raw["nullable"] === true ? { nullable: true } : {};
  return { ...sharedMembers(raw), ...nullable, ...nestedSchema(raw, NESTED_MEMBERS) };
}

const INT_OR_STRING: readonly JsonObject[] = [{ type: "integer" }, { type: "string" }];

export function isMarkedIntOrString(raw: JsonObject): boolean {
  return raw["x-kubernetes-int-or-string"] === true;
}

/** Adds the integer-or-string alternatives, as OpenAPI writes them, to the junctors of a schema. */
export function withIntOrString(junctors: JsonObject): JsonObject {
  const { anyOf, allOf } = junctors;
  const [first, ...others] = Array.isArray(allOf) ? (allOf as JsonObject[]) : [];
  if (jsonEquals(anyOf, INT_OR_STRING) || jsonEquals(first?.["anyOf"], INT_OR_STRING)) return junctors;
  if (anyOf === undefined) return { ...junctors, anyOf: INT_OR_STRING };
  return { ...junctors, allOf: [{ anyOf: INT_OR_STRING }, ...(first === undefined ? [] : [first]), ...others] };
}

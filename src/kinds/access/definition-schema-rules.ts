/** What holds for the schema of custom resources: that it says of everything what type it is. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../meta/field-errors.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { objectsAt } from "../checks.ts";

const TYPES: readonly string[] = ["array", "boolean", "integer", "number", "object", "string"];
const PRESERVES = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING = "x-kubernetes-int-or-string";
const EMBEDDED = "x-kubernetes-embedded-resource";

type Level = "array items" | "object fields" | "root";

/** DIFFERS: conditions (allOf, anyOf, oneOf, not), defaults and expressions are not looked at. */
export function schemaErrors(schema: JsonObject, field: string): FieldError[] {
  const structural: FieldError[] = [];
  addStructuralErrors(schema, { field, level: "root" }, structural);
  // In the order of their text, as kubernetes tells them.
  const sorted = structural
    .map((error) => ({ error, text: `${error.field}: ${error.message}` }))
    .sort((left, right) => (left.text < right.text ? -1 : left.text > right.text ? 1 : 0));
  const ofTypes: FieldError[] = [];
  addTypeErrors(schema, field, ofTypes);
  return [...sorted.map(({ error }) => error), ...ofTypes];
}

interface Place {
  readonly field: string;
  readonly level: Level;
}

function addStructuralErrors(schema: JsonObject, { field, level }: Place, told: FieldError[]): void {
  const { items, additionalProperties } = schema;
  if (stringAt(schema, "type") === "array" && items === undefined)
    told.push(required(`${field}.items`, "must be specified"));
  if (isJsonObject(items)) addStructuralErrors(items, { field: `${field}.items`, level: "array items" }, told);
  const properties = objectAt(schema, "properties");
  for (const [name, property] of Object.entries(properties))
    if (isJsonObject(property))
      addStructuralErrors(property, { field: `${field}.properties[${name}]`, level: "object fields" }, told);
  const additional = `${field}.additionalProperties`;
  if (additionalProperties !== undefined && level === "root")
    told.push(forbiddenField(additional, "must not be used at the root"));
  if (isJsonObject(additionalProperties))
    addStructuralErrors(additionalProperties, { field: additional, level: "object fields" }, told);
  told.push(...extensionErrors(schema, field), ...typePresenceErrors(schema, { field, level }));
  if (level === "root" || schema[EMBEDDED] === true) told.push(...resourceErrors(properties, `${field}.properties`));
  if (level === "root" && isJsonObject(properties["metadata"])) {
    if (!isPlainMetadata(properties["metadata"]))
      told.push(
        forbiddenField(
          `${field}.properties[metadata]`,
          "must not specify anything other than name and generateName, but metadata is implicitly specified",
        ),
      );
  }
}

function* extensionErrors(schema: JsonObject, field: string): Generator<FieldError> {
  if (schema[INT_OR_STRING] === true)
    for (const key of [PRESERVES, EMBEDDED])
      if (schema[key] === true)
        yield invalidValue(`${field}.${key}`, true, `must be false if ${INT_OR_STRING} is true`);
  if (schema[EMBEDDED] !== true) return;
  if (schema["additionalProperties"] !== undefined)
    yield forbiddenField(`${field}.additionalProperties`, `must not be used if ${EMBEDDED} is set`);
  if (schema[PRESERVES] !== true && Object.keys(objectAt(schema, "properties")).length === 0)
    yield required(`${field}.properties`, `must not be empty if ${EMBEDDED} is true without ${PRESERVES}`);
}

function* typePresenceErrors(schema: JsonObject, { field, level }: Place): Generator<FieldError> {
  const type = stringAt(schema, "type");
  const at = `${field}.type`;
  if (schema[EMBEDDED] === true && type !== "object") {
    const sentence = `must be object if ${EMBEDDED} is true`;
    yield type === "" ? required(at, sentence) : invalidValue(at, type, sentence);
  } else if (type === "" && schema[INT_OR_STRING] !== true && schema[PRESERVES] !== true)
    yield required(at, level === "root" ? "must not be empty at the root" : `must not be empty for specified ${level}`);
  if (level === "root" && type !== "" && type !== "object") yield invalidValue(at, type, "must be object at the root");
}

/** What every resource has is of the type that it has. */
function* resourceErrors(properties: JsonObject, field: string): Generator<FieldError> {
  const expected = [
    ["kind", "string"],
    ["apiVersion", "string"],
    ["metadata", "object"],
  ] as const;
  for (const [name, type] of expected) {
    const property = properties[name];
    if (!isJsonObject(property) || stringAt(property, "type") === type) continue;
    yield invalidValue(`${field}[${name}].type`, stringAt(property, "type"), `must be ${type}`);
  }
}

const UNCHECKED: readonly string[] = ["type", "default", "example", "externalDocs", "id", "$schema", "properties"];

/** Names are all that a schema may restrict. */
function isPlainMetadata(metadata: JsonObject): boolean {
  const names = Object.keys(objectAt(metadata, "properties"));
  return (
    Object.keys(metadata).every((key) => UNCHECKED.includes(key)) &&
    names.every((name) => name === "name" || name === "generateName")
  );
}

function addTypeErrors(schema: JsonObject, field: string, told: FieldError[]): void {
  const type = stringAt(schema, "type");
  if (type !== "" && !TYPES.includes(type)) told.push(unsupportedValue(`${field}.type`, type, TYPES));
  for (const [name, property] of Object.entries(objectAt(schema, "properties")))
    if (isJsonObject(property)) addTypeErrors(property, `${field}.properties[${name}]`, told);
  for (const key of ["items", "additionalProperties", "not"])
    if (isJsonObject(schema[key])) addTypeErrors(schema[key], `${field}.${key}`, told);
  for (const key of ["allOf", "oneOf", "anyOf"])
    for (const [index, part] of objectsAt(schema, key).entries())
      addTypeErrors(part, `${field}.${key}[${index}]`, told);
}

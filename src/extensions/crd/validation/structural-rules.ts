/**
 * Validates that a schema is structural: it specifies the type of every value, and its junctors (allOf, anyOf, oneOf,
 * not) only restrict values.
 */
import { forbiddenField, invalidValue, required } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { addCompletenessErrors } from "./completeness.ts";
import { addErrors, errorList, isFull, type ErrorList } from "./error-list.ts";
import { addConditionErrors, isIntOrString } from "./junctor-rules.ts";
import { isMemberSet, SCHEMA_MEMBERS } from "./schema-members.ts";
import {
  EMBEDDED,
  hasAdditionalProperties,
  hasProperties,
  INT_OR_STRING,
  itemsOf,
  PRESERVES,
  propertyOf,
  schemaEntries,
  schemaType,
} from "./schema-node.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

type Level = "array items" | "object fields" | "root";

interface Place {
  readonly field: string;
  readonly level: Level;
  readonly gates: ReleaseGates;
}

/** The schema must have no unsupported fields (see unsupported-members.ts). */
export function structuralErrors(schema: JsonObject, field: string, gates: ReleaseGates): FieldError[] {
  const reported = errorList();
  addInvariantErrors(schema, { field, level: "root", gates }, reported);
  addCompletenessErrors(schema, field, reported);
  // As kubernetes: the errors are sorted by their text.
  return reported.errors
    .map((error) => ({ error, text: `${error.field}: ${error.message}` }))
    .sort((left, right) => (left.text < right.text ? -1 : left.text > right.text ? 1 : 0))
    .map(({ error }) => error);
}

function addInvariantErrors(schema: JsonObject, place: Place, told: ErrorList): void {
  if (isFull(told)) return;
  const { field, level, gates } = place;
  const items = itemsOf(schema);
  if (items !== undefined) addInvariantErrors(items, { field: `${field}.items`, level: "array items", gates }, told);
  else if (schemaType(schema) === "array") addErrors(told, [required(`${field}.items`, "must be specified")]);
  for (const [name, property] of schemaEntries(schema, "properties"))
    addInvariantErrors(property, { field: `${field}.properties[${name}]`, level: "object fields", gates }, told);
  const { additionalProperties } = schema;
  if (hasAdditionalProperties(schema) && level === "root")
    addErrors(told, [forbiddenField(`${field}.additionalProperties`, "must not be used at the root")]);
  if (isJsonObject(additionalProperties)) {
    const below: Place = { field: `${field}.additionalProperties`, level: "object fields", gates };
    addInvariantErrors(additionalProperties, below, told);
  }
  addErrors(told, extensionErrors(schema, field));
  addErrors(told, typeErrors(schema, place));
  addConditionErrors(schema, { field, skipsAnyOf: isIntOrString(schema), allowsInAllOf: true }, told);
  addErrors(told, resourceErrors(schema, place));
}

function* extensionErrors(schema: JsonObject, field: string): Generator<FieldError> {
  if (schema[INT_OR_STRING] === true)
    for (const key of [PRESERVES, EMBEDDED])
      if (schema[key] === true)
        yield invalidValue(`${field}.${key}`, true, `must be false if ${INT_OR_STRING} is true`);
  if (schema[EMBEDDED] !== true) return;
  if (hasAdditionalProperties(schema))
    yield forbiddenField(`${field}.additionalProperties`, `must not be used if ${EMBEDDED} is set`);
  if (schema[PRESERVES] !== true && !hasProperties(schema))
    yield required(`${field}.properties`, `must not be empty if ${EMBEDDED} is true without ${PRESERVES}`);
}

function* typeErrors(schema: JsonObject, { field, level }: Place): Generator<FieldError> {
  const type = schemaType(schema);
  const at = `${field}.type`;
  if (schema[EMBEDDED] === true && type !== "object") {
    const sentence = `must be object if ${EMBEDDED} is true`;
    yield type === "" ? required(at, sentence) : invalidValue(at, type, sentence);
  } else if (type === "" && schema[INT_OR_STRING] !== true && schema[PRESERVES] !== true)
    yield required(at, level === "root" ? "must not be empty at the root" : `must not be empty for specified ${level}`);
  if (level === "root" && type !== "" && type !== "object") yield invalidValue(at, type, "must be object at the root");
}

/**
 * The schema of a resource must not change the types of apiVersion, kind and metadata. At the root, it may restrict
 * only name and generateName in metadata.
 */
function* resourceErrors(schema: JsonObject, { field, level, gates }: Place): Generator<FieldError> {
  const isResource = level === "root" || schema[EMBEDDED] === true;
  const expected = [
    ["kind", "string"],
    ["apiVersion", "string"],
    ["metadata", "object"],
  ] as const;
  for (const [name, type] of expected) {
    const property = propertyOf(schema, name);
    if (!isResource || property === undefined || schemaType(property) === type) continue;
    yield invalidValue(`${field}.properties[${name}].type`, schemaType(property), `must be ${type}`);
  }
  const metadata = propertyOf(schema, "metadata");
  if (level === "root" && metadata !== undefined && !isPlainMetadata(metadata, gates))
    yield forbiddenField(
      `${field}.properties[metadata]`,
      "must not specify anything other than name and generateName, but metadata is implicitly specified",
    );
}

const UNCHECKED: readonly string[] = ["type", "default", "properties", "$ref"];
/**
 * Documentation fields. They are forbidden in metadata only with the release gate CRDMetadataDocumentationForbidden.
 */
const DOCUMENTATION: readonly string[] = ["example", "externalDocs"];

function isPlainMetadata(metadata: JsonObject, gates: ReleaseGates): boolean {
  const names = Object.keys(objectAt(metadata, "properties"));
  if (!names.every((name) => name === "name" || name === "generateName")) return false;
  const checksDocumentation = gates.isOn("CRDMetadataDocumentationForbidden");
  return !SCHEMA_MEMBERS.some(
    (member) =>
      !UNCHECKED.includes(member[1]) &&
      (checksDocumentation || !DOCUMENTATION.includes(member[1])) &&
      isMemberSet(metadata, member),
  );
}

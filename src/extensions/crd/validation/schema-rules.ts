/** Validates every schema of a CRD and all schemas below it, whether they are structural or not. */
import { forbiddenField, invalidValue, unsupportedValue } from "../../../meta/field-errors.ts";
import { isJsonObject, objectsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { addErrors, errorList, isFull, type ErrorList } from "./error-list.ts";
import { listItemErrors, topologyErrors } from "./list-rules.ts";
import { ruleTextErrors } from "./rule-text.ts";
import { EMBEDDED, hasDefault, itemsOf, PRESERVES, schemaEntries, schemaType } from "./schema-node.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

const TYPES: readonly string[] = ["array", "boolean", "integer", "number", "object", "string"];
const META_FIELDS: readonly string[] = ["metadata", "kind", "apiVersion"];

export function isKnownType(type: string): boolean {
  return type === "" || TYPES.includes(type);
}

/** The rules that are enforced. A rule that the stored CRD already violates is not enforced on an update. */
export interface SchemaDemands {
  readonly knownTypes: boolean;
  readonly atomicSets: boolean;
  readonly presentMapKeys: boolean;
  readonly gates: ReleaseGates;
}

interface Place {
  readonly field: string;
  readonly isRoot?: boolean;
  /**
   * If set, defaults are forbidden in this schema and below it; the text says why, and is part of the error message.
   */
  readonly noDefaults?: string;
  readonly isInsideMeta?: boolean;
}

export function schemaErrors(schema: JsonObject, field: string, demands: SchemaDemands): FieldError[] {
  const reported = errorList();
  addSchemaErrors(schema, { field, isRoot: true }, { told: reported, demands });
  return reported.errors;
}

interface Work {
  readonly told: ErrorList;
  readonly demands: SchemaDemands;
}

function addSchemaErrors(schema: JsonObject, place: Place, work: Work): void {
  const { told, demands } = work;
  if (isFull(told)) return;
  const { field } = place;
  addErrors(told, memberErrors(schema, place, demands));
  addPropertiesErrors(schema, place, work);
  const { isRoot: _, ...inherited } = place;
  const below = (part: JsonObject, at: string): void =>
    addSchemaErrors(part, { ...inherited, field: `${field}.${at}` }, work);
  if (isJsonObject(schema["not"])) below(schema["not"], "not");
  for (const key of ["allOf", "oneOf", "anyOf"])
    for (const [index, part] of objectsAt(schema, key).entries()) below(part, `${key}[${index}]`);
  for (const [name, part] of schemaEntries(schema, "definitions")) below(part, `definitions[${name}]`);
  const items = itemsOf(schema);
  if (items !== undefined) below(items, "items");
  for (const [index, part] of objectsAt(schema, "items").entries()) below(part, `items[${index}]`);
  for (const [name, part] of schemaEntries(schema, "dependencies")) below(part, `dependencies[${name}]`);
  if (schema[PRESERVES] === false)
    addErrors(told, [invalidValue(`${field}.${PRESERVES}`, false, "must be true or undefined")]);
  addErrors(told, topologyErrors(schema, field, demands.atomicSets));
  if (demands.presentMapKeys) addErrors(told, listItemErrors(schema, field));
  addErrors(told, ruleTextErrors(schema, field, demands.gates));
}

function addPropertiesErrors(schema: JsonObject, place: Place, work: Work): void {
  const { isRoot = false, ...inherited } = place;
  const { field } = place;
  const { additionalProperties } = schema;
  const properties = schemaEntries(schema, "properties");
  // As kubernetes: the message says "mutual exclusive".
  if (isJsonObject(additionalProperties) || additionalProperties === false)
    if (properties.length > 0)
      addErrors(work.told, [
        forbiddenField(`${field}.additionalProperties`, "additionalProperties and properties are mutual exclusive"),
      ]);
  if (isJsonObject(additionalProperties)) {
    const where =
      place.isInsideMeta === true ? { noDefaults: "inside additionalProperties applying to object metadata" } : {};
    addSchemaErrors(additionalProperties, { ...inherited, ...where, field: `${field}.additionalProperties` }, work);
  }
  for (const [name, property] of properties) {
    const isMeta = (isRoot || schema[EMBEDDED] === true) && META_FIELDS.includes(name);
    addSchemaErrors(
      property,
      {
        ...inherited,
        field: `${field}.properties[${name}]`,
        ...(isMeta ? { isInsideMeta: true } : {}),
        ...(isMeta && isRoot ? { noDefaults: `in top-level ${name}` } : {}),
      },
      work,
    );
  }
}

/** Fields that OpenAPI allows in a schema, and that Kubernetes does not support. */
const UNSUPPORTED: readonly string[] = [
  "id",
  "additionalItems",
  "patternProperties",
  "definitions",
  "dependencies",
  "$ref",
];

function* memberErrors(schema: JsonObject, place: Place, demands: SchemaDemands): Generator<FieldError> {
  const { field, noDefaults, isInsideMeta } = place;
  const type = schemaType(schema);
  if (demands.knownTypes && !isKnownType(type)) yield unsupportedValue(`${field}.type`, type, TYPES);
  if (hasDefault(schema) && noDefaults !== undefined)
    yield forbiddenField(`${field}.default`, `must not be set ${noDefaults}`);
  for (const key of UNSUPPORTED)
    if (hasUnsupported(schema, key)) yield forbiddenField(`${field}.${key}`, `${key} is not supported`);
  if (type === "null")
    yield forbiddenField(`${field}.type`, "type cannot be set to null, use nullable as an alternative");
  if (Array.isArray(schema["items"]) && schema["items"].length > 0)
    yield forbiddenField(`${field}.items`, "items must be a schema object and not an array");
  if (isInsideMeta === true && schema[EMBEDDED] === true)
    yield forbiddenField(`${field}.${EMBEDDED}`, "must not be used inside of resource meta");
  if (schema["uniqueItems"] === true)
    yield forbiddenField(
      `${field}.uniqueItems`,
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
    );
}

function hasUnsupported(schema: JsonObject, key: string): boolean {
  const value = schema[key];
  if (value === undefined || value === null) return false;
  if (key === "id") return value !== "";
  const isMap = key === "patternProperties" || key === "definitions";
  return !isMap || (isJsonObject(value) && Object.keys(value).length > 0);
}

/** Formats parts of a CRD as error messages show them: as kubernetes' internal types, encoded by Go's JSON encoder. */
import { isJsonObject, objectsAt, type JsonObject } from "../../../meta/json.ts";
import { SCHEMA_MEMBERS, type SchemaMember } from "./schema-members.ts";
import { internalValue } from "../../../objects/kinds/internal-version/internal-value.ts";
import { sortedMap } from "../../../meta/go-json.ts";

/**
 * Maximum number of schemas in a message; each is shown with more than forty fields. DIFFERS: kubernetes has no such
 * limit.
 */
const SCHEMAS_SHOWN_MAX = 1000;

interface Budget {
  schemas: number;
}

export function shownSchema(schema: JsonObject, budget: Budget = { schemas: SCHEMAS_SHOWN_MAX }): JsonObject | null {
  if (budget.schemas-- <= 0) return null;
  return Object.fromEntries(SCHEMA_MEMBERS.map((member) => [member[0], shownMember(schema, member, budget)]));
}

function shownMember(schema: JsonObject, [, key, kind]: SchemaMember, budget: Budget): unknown {
  const value = schema[key];
  switch (kind) {
    case "string":
      return typeof value === "string" ? value : "";
    case "boolean":
      return value === true;
    case "any":
    case "anys":
      return shownJson(value);
    case "schema":
      return isJsonObject(value) ? shownSchema(value, budget) : null;
    case "schemas":
      return Array.isArray(value) ? shownSchemas(schema, key, budget) : null;
    case "schema-map":
    case "definitions":
      return isJsonObject(value)
        ? sortedMap(value, (item) => (isJsonObject(item) ? shownSchema(item, budget) : null))
        : null;
    case "schema-or-list":
      return value === undefined ? null : shownItems(schema, budget);
    case "schema-or-boolean":
      if (isJsonObject(value)) return { Allows: true, Schema: shownSchema(value, budget) };
      return typeof value === "boolean" ? { Allows: value, Schema: null } : null;
    case "dependencies":
      return isJsonObject(value) ? sortedMap(value, (item) => shownDependency(item, budget)) : null;
    case "documentation":
      return internalValue(value, "*ExternalDocumentation");
    case "rules":
      return internalValue(value, "[]ValidationRule");
    default:
      return value ?? null;
  }
}

function shownSchemas(schema: JsonObject, key: string, budget: Budget): unknown[] {
  const schemas = objectsAt(schema, key).slice(0, SCHEMAS_SHOWN_MAX);
  return schemas.map((part) => shownSchema(part, budget));
}

export function shownItems(schema: JsonObject, budget: Budget = { schemas: SCHEMAS_SHOWN_MAX }): JsonObject {
  const { items } = schema;
  return {
    Schema: isJsonObject(items) ? shownSchema(items, budget) : null,
    JSONSchemas: Array.isArray(items) ? shownSchemas(schema, "items", budget) : null,
  };
}

function shownDependency(value: unknown, budget: Budget): JsonObject {
  return {
    Schema: isJsonObject(value) ? shownSchema(value, budget) : null,
    Property: Array.isArray(value) ? value : null,
  };
}

/** Any JSON value, with the fields of objects in alphabetical order. */
export function shownJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shownJson);
  return isJsonObject(value) ? sortedMap(value, shownJson) : (value ?? null);
}

/** The fields that all versions share must already have been removed from the versions (see internal-spec.ts). */
export function shownVersions(versions: readonly JsonObject[]): JsonObject[] {
  const budget = { schemas: SCHEMAS_SHOWN_MAX };
  return versions.map((version) => shownVersion(version, budget));
}

function shownVersion(version: JsonObject, budget: Budget): JsonObject {
  const schema = version["schema"];
  const openApi = isJsonObject(schema) ? schema["openAPIV3Schema"] : undefined;
  return {
    ...(internalValue(version, "CustomResourceDefinitionVersion") as JsonObject),
    Schema: isJsonObject(schema)
      ? { OpenAPIV3Schema: isJsonObject(openApi) ? shownSchema(openApi, budget) : null }
      : null,
    Subresources: internalValue(version["subresources"], "*CustomResourceSubresources"),
    AdditionalPrinterColumns: internalValue(version["additionalPrinterColumns"], "[]CustomResourceColumnDefinition"),
    SelectableFields: internalValue(version["selectableFields"], "[]SelectableField"),
  };
}

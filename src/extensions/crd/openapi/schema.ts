/**
 * Publishes the schema of a CRD version in OpenAPI. OpenAPI v3 contains the whole schema. OpenAPI v2 omits defaults and
 * everything that kubectl cannot parse in v2.
 */
import { LIST_META, modelPointer, OBJECT_META } from "../../../serving/discovery/openapi/custom.ts";
import type { Dialect } from "../../../serving/discovery/openapi/schemas.ts";
import { isJsonObject, objectAt, setMember, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { isMarkedIntOrString, nestedSchema, sharedMembers, withIntOrString } from "./members.ts";

const PRESERVE_UNKNOWN = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED_RESOURCE = "x-kubernetes-embedded-resource";

/**
 * The published schema of one kind; `raw` is undefined for a version without a schema. The part of
 * the CRD's schema that describes metadata is not published.
 */
export function publishedSchema(
  raw: JsonObject | undefined,
  dialect: Dialect,
  preservesUnknownFields: boolean,
): JsonObject {
  // If properties were published, kubectl would treat every other field as unknown.
  const isOpen = dialect === "v2" && (preservesUnknownFields || raw?.[PRESERVE_UNKNOWN] === true);
  if (raw === undefined || isOpen) return { type: "object" };
  const schema = fieldSchema(raw, dialect);
  return { ...schema, properties: { ...objectAt(schema, "properties"), ...objectProperties(dialect) } };
}

export function publishedListSchema(
  { kind, listKind, resource, model }: Readonly<Record<"kind" | "listKind" | "resource" | "model", string>>,
  dialect: Dialect,
): JsonObject {
  const items = { $ref: modelPointer(dialect, model) };
  return {
    description: `${listKind} is a list of ${kind}`,
    type: "object",
    required: ["items"],
    properties: {
      ...TYPE_PROPERTIES,
      items: { description: `List of ${resource}.`, type: "array", items },
      metadata: reference(dialect, LIST_META, "Standard list metadata."),
    },
  };
}

const TYPE_PROPERTIES: JsonObject = {
  apiVersion: {
    description: "APIVersion defines in which version of its schema the object is written.",
    type: "string",
  },
  kind: { description: "Kind names the type of the object.", type: "string" },
};

function objectProperties(dialect: Dialect): JsonObject {
  return { ...TYPE_PROPERTIES, metadata: reference(dialect, OBJECT_META, "Standard object's metadata.") };
}

function reference(dialect: Dialect, model: string, description: string): JsonObject {
  const $ref = modelPointer(dialect, model);
  return dialect === "v2" ? { description, $ref } : { description, allOf: [{ $ref }] };
}

function fieldSchema(raw: JsonObject, dialect: Dialect): JsonObject {
  const schema = dialect === "v2" ? lossySchema(raw) : fullSchema(raw);
  const isOpen = dialect === "v2" && raw[PRESERVE_UNKNOWN] === true;
  if (raw[EMBEDDED_RESOURCE] !== true || isOpen) return schema;
  const required = stringsAt(schema, "required");
  const added = ["kind", "apiVersion"].filter((name) => !required.includes(name));
  const properties = { ...objectAt(schema, "properties"), ...objectProperties(dialect) };
  return { ...schema, required: [...required, ...added], properties };
}

function fullSchema(raw: JsonObject): JsonObject {
  const { default: byDefault, nullable, items } = raw;
  const schema: JsonObject = { ...sharedMembers(raw) };
  if (byDefault !== undefined && byDefault !== null) schema["default"] = byDefault;
  if (nullable === true) schema["nullable"] = true;
  if (isJsonObject(items)) schema["items"] = fieldSchema(items, "v3");
  const properties = propertySchemas(raw, "v3");
  if (properties !== undefined) schema["properties"] = properties;
  Object.assign(schema, mapValues(raw, "v3"));
  const junctors = nestedSchema(raw, ["allOf", "anyOf", "oneOf", "not"]);
  return { ...schema, ...(isMarkedIntOrString(raw) ? withIntOrString(junctors) : junctors) };
}

/**
 * The schema for OpenAPI v2, without junctors (allOf, anyOf, oneOf, not) and defaults. It also omits items and
 * properties of values that are nullable or preserve unknown fields, and the type of nullable values, of objects that
 * preserve unknown fields, and of arrays without items.
 */
function lossySchema(raw: JsonObject): JsonObject {
  const { type, required, ...schema } = sharedMembers(raw);
  const isNullable = raw["nullable"] === true;
  const isOpen = raw[PRESERVE_UNKNOWN] === true;
  const hasContent = !isNullable && !isOpen;
  const items = hasContent && isJsonObject(raw["items"]) ? raw["items"] : undefined;
  const isUntyped = isNullable || (isOpen && type === "object") || (type === "array" && items === undefined);
  const demanded = lossyRequired(raw, hasContent);
  const properties = hasContent ? propertySchemas(raw, "v2") : undefined;
  return {
    ...(type === undefined || isUntyped ? {} : { type }),
    ...schema,
    ...(required === undefined || demanded.length === 0 ? {} : { required: demanded }),
    ...(items === undefined ? {} : { items: fieldSchema(items, "v2") }),
    ...(properties === undefined ? {} : { properties }),
    ...mapValues(raw, "v2"),
  };
}

/** The required fields for OpenAPI v2, without nullable properties. Empty if the values of a map are nullable. */
function lossyRequired(raw: JsonObject, hasContent: boolean): string[] {
  const values = raw["additionalProperties"];
  if (isJsonObject(values) && values["nullable"] === true) return [];
  const required = stringsAt(raw, "required");
  if (!hasContent) return required;
  const properties = objectAt(raw, "properties");
  return required.filter((name) => !Object.hasOwn(properties, name) || objectAt(properties, name)["nullable"] !== true);
}

function propertySchemas(raw: JsonObject, dialect: Dialect): JsonObject | undefined {
  const names = Object.keys(objectAt(raw, "properties"));
  if (names.length === 0) return undefined;
  const schemas: JsonObject = {};
  for (const name of names) setMember(schemas, name, fieldSchema(objectAt(objectAt(raw, "properties"), name), dialect));
  return schemas;
}

function mapValues(raw: JsonObject, dialect: Dialect): JsonObject {
  const values = raw["additionalProperties"];
  if (isJsonObject(values)) return { additionalProperties: fieldSchema(values, dialect) };
  return typeof values === "boolean" ? { additionalProperties: values } : {};
}

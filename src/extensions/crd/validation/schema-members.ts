/** The fields of a CRD schema, in the order of kubernetes' internal type. Error messages list them in this order. */
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";

/**
 * The Go types of fields. Those with `optional-` are pointers in Go, in which an absent value differs from the zero
 * value.
 */
export type MemberKind =
  | "string"
  | "optional-string"
  | "boolean"
  | "optional-boolean"
  | "number"
  | "integer"
  | "any"
  | "anys"
  | "strings"
  | "schema"
  | "schemas"
  | "schema-map"
  | "definitions"
  | "schema-or-list"
  | "schema-or-boolean"
  | "dependencies"
  | "documentation"
  | "rules";

/** Go name, JSON name and type of a field. */
export type SchemaMember = readonly [goName: string, key: string, kind: MemberKind];

export const SCHEMA_MEMBERS: readonly SchemaMember[] = [
  ["ID", "id", "string"],
  ["Schema", "$schema", "string"],
  ["Ref", "$ref", "optional-string"],
  ["Description", "description", "string"],
  ["Type", "type", "string"],
  ["Nullable", "nullable", "boolean"],
  ["Format", "format", "string"],
  ["Title", "title", "string"],
  ["Default", "default", "any"],
  ["Maximum", "maximum", "number"],
  ["ExclusiveMaximum", "exclusiveMaximum", "boolean"],
  ["Minimum", "minimum", "number"],
  ["ExclusiveMinimum", "exclusiveMinimum", "boolean"],
  ["MaxLength", "maxLength", "integer"],
  ["MinLength", "minLength", "integer"],
  ["Pattern", "pattern", "string"],
  ["MaxItems", "maxItems", "integer"],
  ["MinItems", "minItems", "integer"],
  ["UniqueItems", "uniqueItems", "boolean"],
  ["MultipleOf", "multipleOf", "number"],
  ["Enum", "enum", "anys"],
  ["MaxProperties", "maxProperties", "integer"],
  ["MinProperties", "minProperties", "integer"],
  ["Required", "required", "strings"],
  ["Items", "items", "schema-or-list"],
  ["AllOf", "allOf", "schemas"],
  ["OneOf", "oneOf", "schemas"],
  ["AnyOf", "anyOf", "schemas"],
  ["Not", "not", "schema"],
  ["Properties", "properties", "schema-map"],
  ["AdditionalProperties", "additionalProperties", "schema-or-boolean"],
  ["PatternProperties", "patternProperties", "schema-map"],
  ["Dependencies", "dependencies", "dependencies"],
  ["AdditionalItems", "additionalItems", "schema-or-boolean"],
  ["Definitions", "definitions", "definitions"],
  ["ExternalDocs", "externalDocs", "documentation"],
  ["Example", "example", "any"],
  ["XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", "optional-boolean"],
  ["XEmbeddedResource", "x-kubernetes-embedded-resource", "boolean"],
  ["XIntOrString", "x-kubernetes-int-or-string", "boolean"],
  ["XListMapKeys", "x-kubernetes-list-map-keys", "strings"],
  ["XListType", "x-kubernetes-list-type", "optional-string"],
  ["XMapType", "x-kubernetes-map-type", "optional-string"],
  ["XValidations", "x-kubernetes-validations", "rules"],
];

/** Whether the Go value of the field would differ from its zero value. */
export function isMemberSet(schema: JsonObject, [, key, kind]: SchemaMember): boolean {
  const value = schema[key];
  if (value === undefined || value === null) return false;
  switch (kind) {
    case "string":
      return value !== "";
    case "boolean":
      return value === true;
    case "anys":
    case "strings":
    case "schemas":
    case "rules":
      return Array.isArray(value) && value.length > 0;
    case "schema-map":
    case "definitions":
    case "dependencies":
      return isJsonObject(value) && Object.keys(value).length > 0;
    default:
      return true;
  }
}

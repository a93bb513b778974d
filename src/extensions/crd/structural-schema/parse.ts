/**
 * Parses openAPIV3Schema of a CRD to a structural schema. It rejects nothing, because non-structural schemas are
 * rejected when the CRD is written.
 */
import { isJsonObject, numberAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { NestedValidation, StructuralSchema, ValidationRule, ValueValidation } from "./schema.ts";

/** Maximum depth of a parsed schema. Request bodies nest less deeply, so no deeper value needs validation. */
const DEPTH_MAX = 1000;

const TYPES: ReadonlySet<unknown> = new Set(["object", "array", "string", "integer", "number", "boolean"]);

/** No validations. Shared by the many schemas that do not restrict their value. */
export const NO_DEMANDS: ValueValidation = Object.freeze({
  format: undefined,
  maximum: undefined,
  exclusiveMaximum: false,
  minimum: undefined,
  exclusiveMinimum: false,
  maxLength: undefined,
  minLength: undefined,
  pattern: undefined,
  maxItems: undefined,
  minItems: undefined,
  uniqueItems: false,
  multipleOf: undefined,
  enum: undefined,
  maxProperties: undefined,
  minProperties: undefined,
  required: Object.freeze([]),
  allOf: Object.freeze([]),
  anyOf: Object.freeze([]),
  oneOf: Object.freeze([]),
  not: undefined,
});

const DEMANDS: readonly string[] = Object.keys(NO_DEMANDS);
const NONE: readonly never[] = Object.freeze([]);
const NO_PROPERTIES: ReadonlyMap<string, never> = new Map<string, never>();

export function parseStructural(openAPIV3Schema: JsonObject): StructuralSchema {
  return structural(openAPIV3Schema, 0);
}

function structural(source: JsonObject, depth: number): StructuralSchema {
  const isTooDeep = depth > DEPTH_MAX;
  return {
    type: TYPES.has(source["type"]) ? (source["type"] as StructuralSchema["type"]) : "",
    nullable: source["nullable"] === true,
    // As kubernetes: a default of null is ignored.
    default: source["default"] ?? undefined,
    properties: isTooDeep ? NO_PROPERTIES : mapOf(source["properties"], (one) => structural(one, depth + 1)),
    additionalProperties: isTooDeep ? undefined : additionalProperties(source["additionalProperties"], depth + 1),
    items: isTooDeep || !isJsonObject(source["items"]) ? undefined : structural(source["items"], depth + 1),
    preserveUnknown: isTooDeep || source["x-kubernetes-preserve-unknown-fields"] === true,
    embeddedResource: source["x-kubernetes-embedded-resource"] === true,
    intOrString: source["x-kubernetes-int-or-string"] === true,
    listType: oneOf(source["x-kubernetes-list-type"], ["atomic", "set", "map"]),
    listMapKeys: sharedStrings(source, "x-kubernetes-list-map-keys"),
    mapType: oneOf(source["x-kubernetes-map-type"], ["atomic", "granular"]),
    rules: rules(source["x-kubernetes-validations"]),
    value: isTooDeep ? NO_DEMANDS : valueValidation(source, depth + 1),
  };
}

function additionalProperties(source: unknown, depth: number): StructuralSchema["additionalProperties"] {
  if (isJsonObject(source)) return structural(source, depth);
  return typeof source === "boolean" ? source : undefined;
}

function nested(source: JsonObject, depth: number): NestedValidation {
  const isTooDeep = depth > DEPTH_MAX;
  const additional = source["additionalProperties"];
  return {
    ...(isTooDeep ? NO_DEMANDS : valueValidation(source, depth + 1)),
    properties: isTooDeep ? NO_PROPERTIES : mapOf(source["properties"], (one) => nested(one, depth + 1)),
    additionalProperties: isTooDeep || !isJsonObject(additional) ? undefined : nested(additional, depth + 1),
    items: isTooDeep || !isJsonObject(source["items"]) ? undefined : nested(source["items"], depth + 1),
    type: stringAt(source, "type"),
    nullable: source["nullable"] === true,
    rules: rules(source["x-kubernetes-validations"]),
  };
}

function valueValidation(source: JsonObject, depth: number): ValueValidation {
  if (!DEMANDS.some((name) => Object.hasOwn(source, name))) return NO_DEMANDS;
  return {
    ...boundsOf(source),
    format: textAt(source, "format"),
    pattern: textAt(source, "pattern"),
    uniqueItems: source["uniqueItems"] === true,
    enum: Array.isArray(source["enum"]) ? source["enum"] : undefined,
    required: sharedStrings(source, "required"),
    allOf: nestedList(source["allOf"], depth),
    anyOf: nestedList(source["anyOf"], depth),
    oneOf: nestedList(source["oneOf"], depth),
    not: isJsonObject(source["not"]) ? nested(source["not"], depth) : undefined,
  };
}

function boundsOf(source: JsonObject) {
  return {
    maximum: numberAt(source, "maximum"),
    exclusiveMaximum: source["exclusiveMaximum"] === true,
    minimum: numberAt(source, "minimum"),
    exclusiveMinimum: source["exclusiveMinimum"] === true,
    maxLength: numberAt(source, "maxLength"),
    minLength: numberAt(source, "minLength"),
    maxItems: numberAt(source, "maxItems"),
    minItems: numberAt(source, "minItems"),
    multipleOf: numberAt(source, "multipleOf"),
    maxProperties: numberAt(source, "maxProperties"),
    minProperties: numberAt(source, "minProperties"),
  };
}

function nestedList(source: unknown, depth: number): readonly NestedValidation[] {
  if (!Array.isArray(source) || source.length === 0) return NONE;
  return source.filter(isJsonObject).map((one) => nested(one, depth));
}

function rules(source: unknown): readonly ValidationRule[] {
  if (!Array.isArray(source) || source.length === 0) return NONE;
  return source.filter(isJsonObject).map((rule) => ({
    rule: stringAt(rule, "rule"),
    message: stringAt(rule, "message"),
    messageExpression: stringAt(rule, "messageExpression"),
    reason: textAt(rule, "reason"),
    fieldPath: stringAt(rule, "fieldPath"),
    optionalOldSelf: typeof rule["optionalOldSelf"] === "boolean" ? rule["optionalOldSelf"] : undefined,
  }));
}

function mapOf<Schema>(source: unknown, parse: (source: JsonObject) => Schema): ReadonlyMap<string, Schema> {
  if (!isJsonObject(source)) return NO_PROPERTIES;
  const properties = new Map<string, Schema>();
  for (const [name, property] of Object.entries(source))
    if (isJsonObject(property)) properties.set(name, parse(property));
  return properties;
}

function sharedStrings(source: JsonObject, name: string): readonly string[] {
  const strings = stringsAt(source, name);
  return strings.length === 0 ? NONE : strings;
}

function textAt(source: JsonObject, name: string): string | undefined {
  const text = stringAt(source, name);
  return text === "" ? undefined : text;
}

function oneOf<Value extends string>(value: unknown, values: readonly Value[]): Value | undefined {
  return values.find((one) => one === value);
}

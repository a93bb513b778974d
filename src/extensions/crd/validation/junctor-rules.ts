/**
 * Validates the schemas below the junctors allOf, anyOf, oneOf and not. These schemas may restrict values, but not
 * define their types.
 */
import { RE2JS } from "re2js";
import { forbiddenField, invalidValue } from "../../../meta/field-errors.ts";
import { isJsonObject, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { addErrors, isFull, type ErrorList } from "./error-list.ts";
import { isMemberSet, SCHEMA_MEMBERS, type SchemaMember } from "./schema-members.ts";
import { EMBEDDED, INT_OR_STRING, itemsOf, PRESERVES, propertyOf, schemaEntries, schemaType } from "./schema-node.ts";

interface Place {
  readonly field: string;
  /** True if anyOf is not validated, because it only expresses int-or-string, which is allowed. */
  readonly skipsAnyOf: boolean;
  /** True outside of junctors, where the first schema of allOf may express int-or-string too. */
  readonly allowsInAllOf: boolean;
}

/** Validates the junctors of a schema, which itself may be below a junctor. */
export function addConditionErrors(schema: JsonObject, place: Place, reported: ErrorList): void {
  const { field, skipsAnyOf, allowsInAllOf } = place;
  const below = (part: JsonObject, at: string, skips = false): void =>
    addNestedErrors(part, { field: `${field}.${at}`, skipsAnyOf: skips, allowsInAllOf: false }, reported);
  if (!skipsAnyOf) for (const [index, part] of objectsAt(schema, "anyOf").entries()) below(part, `anyOf[${index}]`);
  for (const [index, part] of objectsAt(schema, "allOf").entries())
    below(part, `allOf[${index}]`, allowsInAllOf && index === 0 && isIntOrString(part));
  for (const [index, part] of objectsAt(schema, "oneOf").entries()) below(part, `oneOf[${index}]`);
  if (isJsonObject(schema["not"])) below(schema["not"], "not");
  addErrors(reported, patternErrors(schema, field));
}

/** Whether anyOf expresses int-or-string, the only case in which types are allowed below a junctor. */
export function isIntOrString(schema: JsonObject): boolean {
  const anyOf = objectsAt(schema, "anyOf");
  return anyOf.length === 2 && isOnlyType(anyOf[0], "integer") && isOnlyType(anyOf[1], "string");
}

function isOnlyType(schema: JsonObject | undefined, type: string): boolean {
  if (schema === undefined || schemaType(schema) !== type) return false;
  return !SCHEMA_MEMBERS.some((member) => member[1] !== "type" && isMemberSet(schema, member));
}

function addNestedErrors(schema: JsonObject, place: Place, told: ErrorList): void {
  if (isFull(told)) return;
  addConditionErrors(schema, place, told);
  const { field } = place;
  const items = itemsOf(schema);
  const plain = { skipsAnyOf: false, allowsInAllOf: false };
  if (items !== undefined) addNestedErrors(items, { field: `${field}.items`, ...plain }, told);
  for (const [name, property] of schemaEntries(schema, "properties"))
    addNestedErrors(property, { field: `${field}.properties[${name}]`, ...plain }, told);
  addErrors(told, forbiddenErrors(schema, field));
}

/** Fields that must not be set below a junctor, each with the word for "not set" in kubernetes' message. */
const FORBIDDEN: readonly (readonly [key: string, nothing: "empty" | "false" | "undefined"])[] = [
  ["type", "empty"],
  ["default", "undefined"],
  ["title", "empty"],
  ["description", "empty"],
  ["nullable", "false"],
  [PRESERVES, "false"],
  [EMBEDDED, "false"],
  [INT_OR_STRING, "false"],
  ["x-kubernetes-list-map-keys", "empty"],
  ["x-kubernetes-list-type", "undefined"],
  ["x-kubernetes-map-type", "undefined"],
  ["x-kubernetes-validations", "empty"],
];

const MEMBERS: ReadonlyMap<string, SchemaMember> = new Map(SCHEMA_MEMBERS.map((member) => [member[1], member]));

function* forbiddenErrors(schema: JsonObject, field: string): Generator<FieldError> {
  const { additionalProperties } = schema;
  if (additionalProperties === true || isJsonObject(additionalProperties))
    yield forbiddenField(`${field}.additionalProperties`, "must be undefined to be structural");
  for (const [key, nothing] of FORBIDDEN) {
    const member = MEMBERS.get(key);
    if (member !== undefined && isMemberSet(schema, member))
      yield forbiddenField(`${field}.${key}`, `must be ${nothing} to be structural`);
  }
  if (propertyOf(schema, "metadata") !== undefined)
    yield forbiddenField(`${field}.properties[metadata]`, "must not be specified in a nested context");
}

function* patternErrors(schema: JsonObject, field: string): Generator<FieldError> {
  const pattern = stringAt(schema, "pattern");
  const problem = pattern === "" ? undefined : expressionProblem(pattern);
  if (problem !== undefined)
    yield invalidValue(`${field}.pattern`, pattern, `must be a valid regular expression, but isn't: ${problem}`);
}

const TRAILING_BACKSLASH = "trailing backslash at end of expression";

/** Go's error for an invalid regular expression; undefined if the expression is valid. */
function expressionProblem(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (thrown) {
    const { message } = thrown instanceof Error ? thrown : new Error(String(thrown));
    return message.endsWith(TRAILING_BACKSLASH) ? `${message}: \`\`` : message;
  }
}

/** Validates the schema of one version, or the schema that all versions share. */
import { forbiddenField, invalidGoValue, invalidValue } from "../../../meta/field-errors.ts";
import { stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { parseStructural } from "../structural-schema/parse.ts";
import { ruleDefinitionErrors } from "../structural-schema/rules/definition.ts";
import { defaultErrors } from "./default-values.ts";
import { patternSize } from "./pattern-size.ts";
import { isMemberSet, SCHEMA_MEMBERS } from "./schema-members.ts";
import { eachSchema, isTooDeep, schemaType, VALIDATIONS } from "./schema-node.ts";
import { schemaErrors, type SchemaDemands } from "./schema-rules.ts";
import { shownSchema } from "./shown.ts";
import { structuralErrors } from "./structural-rules.ts";
import { unreadableReason } from "./unsupported-members.ts";

export interface ValidationDemands extends SchemaDemands {
  readonly structural: boolean;
  readonly prunedDefaults: boolean;
}

interface ValidationPlace {
  /** Path of the field that holds the schema, such as `spec.validation`. */
  readonly field: string;
  readonly hasStatus: boolean;
  /** Whether the stored CRD has the same schema. */
  readonly isUnchanged: boolean;
}

export function* validationErrors(
  schema: JsonObject,
  place: ValidationPlace,
  demands: ValidationDemands,
): Generator<FieldError> {
  const field = `${place.field}.openAPIV3Schema`;
  if (isTooDeep(schema)) {
    // DIFFERS: kubernetes has no such limit.
    yield forbiddenField(field, "schema is nested too deeply");
    return;
  }
  if (patternsSize(schema) > PATTERNS_SIZE_MAX) {
    // DIFFERS: kubernetes has no such limit. Here compiling a pattern blocks all other requests.
    yield forbiddenField(field, "patterns are too large");
    return;
  }
  const reason = demands.structural ? unreadableReason(schema) : undefined;
  const isStructured = demands.structural && reason === undefined;
  const reported = [
    ...rootErrors(schema, field, place.hasStatus),
    ...(isStructured ? structureErrors(schema, field, demands) : []),
  ];
  const found = schemaErrors(schema, field, demands);
  yield* reported;
  yield* found;
  if (reported.length > 0 || !demands.structural) return;
  if (reason !== undefined) {
    if (found.length === 0) yield invalidValue(field, "", reason);
    return;
  }
  const rules = { schema: parseStructural(schema), path: field, isUnchanged: place.isUnchanged, gates: demands.gates };
  for (const error of ruleDefinitionErrors(rules)) if (!isAboveAny(error, found)) yield error;
}

/**
 * True if the schema of the rule, or a schema below it, already has an error. The error of the rule is then not
 * reported.
 */
function isAboveAny(error: FieldError, others: readonly FieldError[]): boolean {
  const at = error.field.indexOf(`.${VALIDATIONS}`);
  const node = at < 0 ? error.field : error.field.slice(0, at);
  return others.some(({ field }) => field.startsWith(`${node}.`));
}

const PATTERNS_SIZE_MAX = 1_000_000;

function patternsSize(schema: JsonObject): number {
  let size = 0;
  for (const one of eachSchema(schema)) {
    const pattern = stringAt(one, "pattern");
    if (pattern !== "") size += patternSize(pattern);
  }
  return size;
}

/** Validates that the schema is structural. Its defaults are validated only if it is. */
function* structureErrors(schema: JsonObject, field: string, demands: ValidationDemands): Generator<FieldError> {
  const errors = structuralErrors(schema, field, demands.gates);
  yield* errors;
  if (errors.length === 0) yield* defaultErrors(parseStructural(schema), field, demands);
}

/** The fields that may be set at the root of a schema with a status subresource, in the order of the message. */
const BESIDE_STATUS: readonly string[] = [
  "Description",
  "Type",
  "Format",
  "Title",
  "Maximum",
  "ExclusiveMaximum",
  "Minimum",
  "ExclusiveMinimum",
  "MaxLength",
  "MinLength",
  "Pattern",
  "MaxItems",
  "MinItems",
  "UniqueItems",
  "MultipleOf",
  "Required",
  "Items",
  "Properties",
  "ExternalDocs",
  "Example",
  "XPreserveUnknownFields",
  "XValidations",
];

function* rootErrors(schema: JsonObject, field: string, hasStatus: boolean): Generator<FieldError> {
  if (hasStatus) yield* besideStatusErrors(schema, field);
  if (schema["nullable"] === true) yield forbiddenField(`${field}.nullable`, "nullable cannot be true at the root");
}

/**
 * A status update validates only the schema of the status, so the root must not contain validations that it would skip.
 * Only the first error is reported.
 */
function* besideStatusErrors(schema: JsonObject, field: string): Generator<FieldError> {
  const where = "at the root of the schema if the status subresource is enabled";
  for (const member of SCHEMA_MEMBERS) {
    if (!isMemberSet(schema, member)) continue;
    const [goName] = member;
    if (goName === "Type" && schemaType(schema) !== "object") {
      yield invalidValue(`${field}.type`, schemaType(schema), `only "object" is allowed as the type ${where}`);
      return;
    }
    if (BESIDE_STATUS.includes(goName)) continue;
    yield invalidGoValue(field, shownSchema(schema), `only [${BESIDE_STATUS.join(" ")}] fields are allowed ${where}`);
    return;
  }
}

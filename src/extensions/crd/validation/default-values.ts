/** Validates that the defaults of a schema are valid by that schema. */
import { forbiddenField, invalidGoValue } from "../../../meta/field-errors.ts";
import { aggregateText } from "../../../meta/aggregate-text.ts";
import { cloneJson, jsonEquals, objectAt, setMember, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import { compileEmbedded } from "../structural-schema/embedded.ts";
import { embeddedErrors, type EmbeddedRules } from "../structural-schema/metadata.ts";
import { pruneUnknown } from "../structural-schema/prune.ts";
import { compileRules } from "../structural-schema/rules/compile.ts";
import { schemaRuleErrors } from "../structural-schema/rules/evaluate.ts";
import type { StructuralSchema } from "../structural-schema/schema.ts";
import { valueErrors } from "../structural-schema/validate/validate-value.ts";
import { labelsErrors } from "../../../objects/kinds/checks.ts";
import { lenientSchemas, type LenientSchema } from "./lenient-schema.ts";
import { shownJson } from "./shown.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

const META_FIELDS: readonly string[] = ["metadata", "kind", "apiVersion"];

interface DefaultDemands {
  readonly prunedDefaults: boolean;
  readonly gates: ReleaseGates;
}

/**
 * Maximum number of schemas that are checked for all defaults together. Defaults can be nested, and each is validated
 * against all schemas below it. DIFFERS: kubernetes has no such limit.
 */
const SCHEMAS_CHECKED_MAX = 300_000;

interface Work extends DefaultDemands {
  readonly lenient: (schema: StructuralSchema) => LenientSchema;
  schemasLeft: number;
}

interface Place {
  readonly field: string;
  /**
   * Path, from the enclosing resource, of a schema at or below metadata, kind or apiVersion; undefined for all other
   * schemas.
   */
  readonly metaPath: readonly string[] | undefined;
  readonly isResource: boolean;
}

/** Validates all defaults in a schema, which must be structural and describe a resource. */
export function* defaultErrors(
  schema: StructuralSchema,
  field: string,
  demands: DefaultDemands,
): Generator<FieldError> {
  const work = { ...demands, lenient: lenientSchemas(), schemasLeft: SCHEMAS_CHECKED_MAX };
  yield* errorsBelow(schema, { field, metaPath: undefined, isResource: true }, work);
}

function* errorsBelow(schema: StructuralSchema, place: Place, work: Work): Generator<FieldError> {
  const { field } = place;
  const isResource = place.isResource || schema.embeddedResource;
  const metaPath = isResource ? undefined : place.metaPath;
  if (schema.default !== undefined) yield* errorsOf(schema, { field, metaPath, isResource }, work);
  // As kubernetes: defaults of additionalProperties are not validated.
  if (schema.items !== undefined)
    yield* errorsBelow(schema.items, { field: `${field}.items`, metaPath, isResource: false }, work);
  for (const [name, property] of schema.properties) {
    const isMeta = metaPath !== undefined || (isResource && META_FIELDS.includes(name));
    const below: Place = {
      field: `${field}.properties[${name}]`,
      metaPath: isMeta ? [...(metaPath ?? []), name] : undefined,
      isResource: false,
    };
    yield* errorsBelow(property, below, work);
  }
}

/** Validates one default. The checks stop after the first one that finds an error. */
function* errorsOf(schema: StructuralSchema, place: Place, work: Work): Generator<FieldError> {
  const field = `${place.field}.default`;
  const lenient = work.lenient(schema);
  work.schemasLeft -= lenient.size;
  if (work.schemasLeft < 0) {
    yield forbiddenField(field, "too many nested defaults");
    return;
  }
  const isUnknown = place.metaPath === undefined && work.prunedDefaults && isUnpruned(schema, place.isResource);
  if (isUnknown) yield invalidGoValue(field, shownJson(schema.default), "must not have unknown fields");
  const checks = [
    () => (place.metaPath === undefined ? resourceErrors(schema, place, field) : metaErrors(schema, place, field)),
    () => valueErrors(schema.default, lenient.schema, { field, gates: work.gates }),
    () => ruleErrorsOf(schema, { ...place, field }, schema.default),
    () => ruleErrorsOf(schema, { ...place, field }, undefined),
  ];
  for (const check of checks) {
    let hasErrors = false;
    for (const error of check()) {
      hasErrors = true;
      yield error;
    }
    if (hasErrors) return;
  }
}

/**
 * Evaluates the CEL rules for the default: as for an update that changes nothing if `existing` is the default, as for a
 * creation if it is undefined.
 */
function* ruleErrorsOf(
  schema: StructuralSchema,
  { field, isResource }: Pick<Place, "field" | "isResource">,
  existing: unknown,
): Generator<FieldError> {
  const rules = compileRules(schema, isResource);
  if (rules !== undefined) yield* schemaRuleErrors({ rules, object: schema.default, existing, path: field });
}

const ANY_METADATA: StructSchema = { name: "ObjectMeta", fields: new Map(), mapType: undefined, preserveUnknown: true };

/** DIFFERS: of the metadata of embedded resources only labels are validated. */
const EMBEDDED: EmbeddedRules = {
  type: { struct: ANY_METADATA },
  metadataErrors: (metadata) => labelsErrors(objectAt(metadata, "labels"), "metadata.labels"),
};

function resourceErrors(schema: StructuralSchema, { isResource }: Place, field: string): FieldError[] {
  const visit = compileEmbedded(isResource ? { ...schema, embeddedResource: true } : schema);
  if (visit === undefined) return [];
  return embeddedErrors({}, (_value, _path, found) => visit(schema.default, field, found), EMBEDDED);
}

/** Validates a resource that contains only the default and the required fields. */
function metaErrors(schema: StructuralSchema, { metaPath = [] }: Place, field: string): FieldError[] {
  const resource: JsonObject = { apiVersion: "validation/v1", kind: "Validation" };
  let parent = resource;
  for (const [index, name] of metaPath.entries()) {
    const isLast = index === metaPath.length - 1;
    const member: unknown = isLast ? schema.default : {};
    setMember(parent, name, member);
    if (!isLast) parent = member as JsonObject;
  }
  const errors = embeddedErrors({}, (_value, _path, found) => found(resource, ""), EMBEDDED);
  if (errors.length === 0) return [];
  const sentences = errors.map((error) => `${error.field}: ${error.message}`);
  return [
    invalidGoValue(field, shownJson(schema.default), `must result in valid metadata: ${aggregateText(sentences)}`),
  ];
}

function isUnpruned(schema: StructuralSchema, isResourceRoot: boolean): boolean {
  const pruned = cloneJson(schema.default);
  pruneUnknown(pruned, schema, { isResourceRoot });
  return !jsonEquals(pruned, schema.default);
}

/** Whether pruning would remove fields from a default. */
export function hasUnprunedDefaults(schema: StructuralSchema): boolean {
  return hasUnprunedBelow(schema, true);
}

function hasUnprunedBelow(schema: StructuralSchema, isResource: boolean): boolean {
  if (schema.default !== undefined && isUnpruned(schema, isResource || schema.embeddedResource)) return true;
  if (schema.items !== undefined && hasUnprunedBelow(schema.items, false)) return true;
  const { additionalProperties } = schema;
  if (typeof additionalProperties === "object" && hasUnprunedBelow(additionalProperties, false)) return true;
  return schema.properties.values().some((property) => hasUnprunedBelow(property, false));
}

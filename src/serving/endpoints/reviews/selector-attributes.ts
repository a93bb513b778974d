/**
 * Validates the field and label selectors of an access review, and reports the selectors that the authorizer ignores
 * because they cannot be parsed.
 */
import { forbiddenField, invalidValue, required } from "../../../meta/field-errors.ts";
import { parseFieldSelector } from "../../../meta/field-selector.ts";
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { parseLabelSelector } from "../../../meta/label-selector.ts";
import { labelValueErrors, qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { SELECTOR_CHARACTERS_MAX } from "../endpoint-limits.ts";

/** Returns the errors of the selectors in spec.resourceAttributes. */
export function* reviewSelectorErrors(attributes: JsonObject): Generator<FieldError> {
  yield* attributeErrors(attributes, "fieldSelector", fieldRequirementErrors);
  yield* attributeErrors(attributes, "labelSelector", labelRequirementErrors);
}

type SelectorName = "fieldSelector" | "labelSelector";
type RequirementErrors = (requirement: JsonObject, field: string) => Generator<FieldError>;

function* attributeErrors(
  attributes: JsonObject,
  name: SelectorName,
  requirementErrors: RequirementErrors,
): Generator<FieldError> {
  if (!isJsonObject(attributes[name])) return;
  const selector = objectAt(attributes, name);
  const field = `spec.resourceAttributes.${name}`;
  const raw = stringAt(selector, "rawSelector");
  const requirements = requirementsOf(selector);
  // As kubernetes: the message lacks "be".
  if (raw !== "" && requirements.length > 0)
    yield invalidValue(`${field}.rawSelector`, raw, "may not specified at the same time as requirements");
  if (raw === "" && requirements.length === 0)
    yield required(`${field}.requirements`, `when ${field} is specified, requirements or rawSelector is required`);
  for (const [index, requirement] of requirements.entries())
    yield* requirementErrors(requirement, `${field}.requirements[${index}]`);
}

function requirementsOf(selector: JsonObject): JsonObject[] {
  const { requirements } = selector;
  return Array.isArray(requirements) ? requirements.map((one: unknown) => (isJsonObject(one) ? one : {})) : [];
}

function* fieldRequirementErrors(requirement: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(requirement, "key") === "") yield required(`${field}.key`, "must be specified");
  yield* countErrors(requirement, field);
}

/** As kubernetes: unknown operators are skipped, because a later release may know them. */
function* countErrors(requirement: JsonObject, field: string): Generator<FieldError> {
  const operator = stringAt(requirement, "operator");
  const count = stringsAt(requirement, "values").length;
  if ((operator === "In" || operator === "NotIn") && count === 0)
    yield required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  if ((operator === "Exists" || operator === "DoesNotExist") && count > 0)
    yield forbiddenField(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
}

function* labelRequirementErrors(requirement: JsonObject, field: string): Generator<FieldError> {
  const key = stringAt(requirement, "key");
  yield* countErrors(requirement, field);
  for (const sentence of qualifiedNameErrors(key)) yield invalidValue(`${field}.key`, key, sentence);
  for (const [index, value] of stringsAt(requirement, "values").entries())
    for (const sentence of labelValueErrors(value)) yield invalidValue(`${field}.values[${index}]`, value, sentence);
}

/**
 * Returns a message for each selector that the authorizer has ignored, completely or partially. The attributes must be
 * valid.
 */
export function selectorProblems(attributes: JsonObject): string[] {
  return [
    ...selectorProblem(attributes, "fieldSelector", (text) => parseFieldSelector(text), isFieldRequirement),
    ...selectorProblem(attributes, "labelSelector", (text) => parseLabelSelector(text), isLabelRequirement),
  ];
}

function selectorProblem(
  attributes: JsonObject,
  name: SelectorName,
  parse: (text: string) => unknown,
  isUnderstood: (requirement: JsonObject) => boolean,
): string[] {
  const selector = objectAt(attributes, name);
  const requirements = requirementsOf(selector);
  const understood = requirements.filter(isUnderstood).length;
  if (
    requirements.length > 0 ? understood === requirements.length : isReadable(stringAt(selector, "rawSelector"), parse)
  )
    return [];
  const extent = understood > 0 ? "partially ignored" : "ignored";
  return [`spec.resourceAttributes.${name} ${extent} due to parse error`];
}

/** DIFFERS: a selector that is longer than the limit of list requests is not parsed. */
function isReadable(raw: string, parse: (text: string) => unknown): boolean {
  if (raw.length > SELECTOR_CHARACTERS_MAX) return false;
  try {
    parse(raw);
    return true;
  } catch {
    return false;
  }
}

function isFieldRequirement(requirement: JsonObject): boolean {
  const operator = stringAt(requirement, "operator");
  return (operator === "In" || operator === "NotIn") && stringsAt(requirement, "values").length === 1;
}

const LABEL_OPERATORS: readonly string[] = ["In", "NotIn", "Exists", "DoesNotExist"];

function isLabelRequirement(requirement: JsonObject): boolean {
  return LABEL_OPERATORS.includes(stringAt(requirement, "operator"));
}

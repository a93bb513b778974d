/** Checks that many kinds share, with Kubernetes' messages. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../meta/field-errors.ts";
import { jsonEquals, numberAt, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { labelValueErrors, qualifiedNameErrors, type NameRule } from "../../meta/names.ts";
import type { FieldError } from "../../meta/status-error.ts";

const FIELD_IS_IMMUTABLE = "field is immutable";

/** The number at `key`; 0 if it is absent. */
export function countAt(parent: JsonObject, key: string): number {
  return numberAt(parent, key) ?? 0;
}

export function* nonNegativeErrors(value: number | undefined, field: string): Generator<FieldError> {
  if (value !== undefined && value < 0) yield invalidValue(field, value, "must be greater than or equal to 0");
}

export function* positiveErrors(value: number | undefined, field: string): Generator<FieldError> {
  if (value !== undefined && value <= 0) yield invalidValue(field, value, "must be greater than 0");
}

export function* portNumberErrors(value: number, field: string): Generator<FieldError> {
  if (value < 1 || value > 65_535) yield invalidValue(field, value, "must be between 1 and 65535, inclusive");
}

export function* nameErrors(name: string, field: string, rule: NameRule): Generator<FieldError> {
  for (const sentence of rule(name)) yield invalidValue(field, name, sentence);
}

/** Checks that a value is one of `supported`, which is in alphabetical order. */
export function* enumErrors(value: string, field: string, supported: readonly string[]): Generator<FieldError> {
  if (value === "") yield required(field);
  else if (!supported.includes(value)) yield unsupportedValue(field, value, supported);
}

export function* immutableErrors(value: unknown, before: unknown, field: string): Generator<FieldError> {
  if (!jsonEquals(value, before)) yield invalidValue(field, value, FIELD_IS_IMMUTABLE);
}

export function* labelsErrors(labels: JsonObject, field: string): Generator<FieldError> {
  for (const key of Object.keys(labels).sort()) {
    for (const sentence of qualifiedNameErrors(key)) yield invalidValue(field, key, sentence);
    for (const sentence of labelValueErrors(String(labels[key]))) yield invalidValue(field, labels[key], sentence);
  }
}

const SELECTOR_OPERATORS: readonly string[] = ["DoesNotExist", "Exists", "In", "NotIn"];

/** Checks a metav1.LabelSelector. */
export function* labelSelectorErrors(selector: JsonObject, field: string): Generator<FieldError> {
  yield* labelsErrors(objectAt(selector, "matchLabels"), `${field}.matchLabels`);
  for (const [index, requirement] of objectsAt(selector, "matchExpressions").entries())
    yield* requirementErrors(requirement, `${field}.matchExpressions[${index}]`);
}

function* requirementErrors(requirement: JsonObject, field: string): Generator<FieldError> {
  const operator = stringAt(requirement, "operator");
  const values = stringsAt(requirement, "values");
  if ((operator === "In" || operator === "NotIn") && values.length === 0)
    yield required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0)
    yield forbiddenField(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  if (!SELECTOR_OPERATORS.includes(operator))
    yield invalidValue(`${field}.operator`, operator, "not a valid selector operator");
  for (const sentence of qualifiedNameErrors(stringAt(requirement, "key")))
    yield invalidValue(`${field}.key`, stringAt(requirement, "key"), sentence);
  for (const [index, value] of values.entries())
    for (const sentence of labelValueErrors(value)) yield invalidValue(`${field}.values[${index}]`, value, sentence);
}

export function isEmptySelector(selector: JsonObject): boolean {
  return (
    Object.keys(objectAt(selector, "matchLabels")).length === 0 && objectsAt(selector, "matchExpressions").length === 0
  );
}

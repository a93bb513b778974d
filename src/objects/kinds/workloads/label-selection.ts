/** Matches metav1.LabelSelectors against template labels, and creates the errors about selectors and labels. */
import { invalidValue } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { labelSelectorErrors } from "../checks.ts";
import { isSemanticallyEqual } from "../../../meta/semantic-equality.ts";
import { internalValue } from "../internal-version/internal-value.ts";

/** The selector of the workload; undefined if it has none. */
export function selectorOf(spec: JsonObject): JsonObject | undefined {
  const { selector } = spec;
  return isJsonObject(selector) ? selector : undefined;
}

export function isReadable(selector: JsonObject): boolean {
  return labelSelectorErrors(selector, "").next().done === true;
}

/** Whether the selector matches the labels. An absent selector matches nothing, an empty selector everything. */
export function selects(selector: JsonObject | undefined, labels: JsonObject): boolean {
  if (selector === undefined) return false;
  const wanted = objectAt(selector, "matchLabels");
  return (
    Object.keys(wanted).every((key) => Object.hasOwn(labels, key) && labels[key] === wanted[key]) &&
    objectsAt(selector, "matchExpressions").every((requirement) => isMet(requirement, labels))
  );
}

function isMet(requirement: JsonObject, labels: JsonObject): boolean {
  const key = stringAt(requirement, "key");
  const isPresent = Object.hasOwn(labels, key);
  const isListed = isPresent && stringsAt(requirement, "values").includes(String(labels[key]));
  switch (stringAt(requirement, "operator")) {
    case "In":
      return isListed;
    case "NotIn":
      return !isListed;
    case "Exists":
      return isPresent;
    default:
      return !isPresent;
  }
}

export function templateLabels(spec: JsonObject): JsonObject {
  return objectAt(objectAt(objectAt(spec, "template"), "metadata"), "labels");
}

/** The error about template labels that the selector of the workload does not match. */
export function mismatchError(template: JsonObject, field: string): FieldError {
  const { labels } = objectAt(template, "metadata");
  return invalidValue(
    `${field}.metadata.labels`,
    internalValue(labels, "*"),
    "`selector` does not match template `labels`",
  );
}

export function* immutableSelectorErrors(spec: JsonObject, before: JsonObject): Generator<FieldError> {
  if (isSemanticallyEqual(spec["selector"], before["selector"])) return;
  yield invalidValue("spec.selector", internalValue(spec["selector"], "L"), "field is immutable");
}

/**
 * Validation of the selector and the pod template of Deployments and ReplicaSets; StatefulSets share the validation of
 * the selector.
 */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { isEmptySelector, labelSelectorErrors } from "../checks.ts";
import type { KindContext } from "../kind.ts";
import { podTemplateErrors } from "../pods/pod-template.ts";
import { isReadable, mismatchError, selectorOf, selects, templateLabels } from "./label-selection.ts";
import { forbiddenDeadlineErrors, restartErrors } from "./long-running-pods.ts";
import { internalValue } from "../internal-version/internal-value.ts";

export function* selectorErrors(spec: JsonObject, kind: string): Generator<FieldError> {
  const selector = selectorOf(spec);
  if (selector === undefined) {
    yield required("spec.selector");
    return;
  }
  yield* labelSelectorErrors(selector, "spec.selector");
  if (isEmptySelector(selector))
    yield invalidValue("spec.selector", internalValue(selector, "L"), `empty selector is invalid for ${kind}`);
}

/** If the selector is invalid, the template is not checked. */
export function* replicaTemplateErrors(spec: JsonObject, context: KindContext): Generator<FieldError> {
  const selector = selectorOf(spec);
  if (selector !== undefined && !isReadable(selector)) {
    yield invalidValue("spec.selector", internalValue(selector, "L"), "invalid label selector");
    return;
  }
  const field = "spec.template";
  const template = objectAt(spec, "template");
  if (!selects(selector, templateLabels(spec))) yield mismatchError(template, field);
  yield* podTemplateErrors(template, field, context);
  yield* restartErrors(template, field);
  yield* forbiddenDeadlineErrors(template, field, "ReplicaSet");
}

/** Validation of the spec of a StatefulSet. */
import { invalidValue, unsupportedValue } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { labelsErrors, nameErrors, nonNegativeErrors } from "../checks.ts";
import type { KindContext } from "../kind.ts";
import { podTemplateErrors } from "../pods/pod-template.ts";
import { annotationsErrors } from "../pods/rules/annotation-rules.ts";
import { claimSpecErrors } from "../storage/claim-spec.ts";
import { templateWithClaims } from "./claim-templates.ts";
import { countOf, intOrPercentErrors, over100PercentErrors } from "./int-or-percent.ts";
import { isReadable, mismatchError, selectorOf, selects, templateLabels } from "./label-selection.ts";
import { forbiddenDeadlineErrors, restartErrors } from "./long-running-pods.ts";
import { selectorErrors } from "./replica-template.ts";
import { internalValue } from "../internal-version/internal-value.ts";

interface StatefulSetCheck {
  readonly context: KindContext;
  /** False on an update, which skips the checks of fields that cannot change. */
  readonly isNew: boolean;
  readonly isTemplateTolerated?: boolean;
}

export function isStatefulSetSpecValid(spec: JsonObject, context: KindContext): boolean {
  return statefulSetSpecErrors(spec, { context, isNew: false }).next().done === true;
}

export function* statefulSetSpecErrors(spec: JsonObject, check: StatefulSetCheck): Generator<FieldError> {
  const management = stringAt(spec, "podManagementPolicy");
  if (management !== "OrderedReady" && management !== "Parallel")
    yield invalidValue("spec.podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'");
  yield* strategyErrors(objectAt(spec, "updateStrategy"));
  yield* retentionErrors(objectAt(spec, "persistentVolumeClaimRetentionPolicy"));
  if (check.isNew && check.context.gates.isOn("StatefulSetTemplateValidation")) yield* claimsErrors(spec);
  yield* nonNegativeErrors(numberAt(spec, "replicas"), "spec.replicas");
  yield* nonNegativeErrors(numberAt(spec, "minReadySeconds"), "spec.minReadySeconds");
  yield* nonNegativeErrors(numberAt(objectAt(spec, "ordinals"), "start"), "spec.ordinals.start");
  const serviceName = stringAt(spec, "serviceName");
  if (check.isNew && serviceName !== "") yield* nameErrors(serviceName, "spec.serviceName", dnsLabelErrors);
  yield* selectorErrors(spec, "statefulset");
  yield* templateErrors(spec, check);
  const template = objectAt(spec, "template");
  yield* restartErrors(template, "spec.template");
  yield* forbiddenDeadlineErrors(template, "spec.template", "StatefulSet");
}

function* strategyErrors(strategy: JsonObject): Generator<FieldError> {
  const field = "spec.updateStrategy";
  const type = stringAt(strategy, "type");
  const { rollingUpdate } = strategy;
  if (type === "RollingUpdate") {
    yield* rollingUpdateErrors(objectAt(strategy, "rollingUpdate"), `${field}.rollingUpdate`);
  } else if (type !== "OnDelete") {
    const shown = internalValue(strategy, "StatefulSetUpdateStrategy");
    yield invalidValue(field, shown, "must be 'RollingUpdate' or 'OnDelete'");
  } else if (rollingUpdate !== undefined) {
    const why = "only allowed for updateStrategy 'RollingUpdate'";
    yield invalidValue(
      `${field}.rollingUpdate`,
      internalValue(rollingUpdate, "*RollingUpdateStatefulSetStrategy"),
      why,
    );
  }
}

function* rollingUpdateErrors(rollingUpdate: JsonObject, field: string): Generator<FieldError> {
  yield* nonNegativeErrors(numberAt(rollingUpdate, "partition"), `${field}.partition`);
  const { maxUnavailable } = rollingUpdate;
  if (maxUnavailable === undefined) return;
  yield* intOrPercentErrors(maxUnavailable, `${field}.maxUnavailable`);
  if (countOf(maxUnavailable) === 0) yield invalidValue(`${field}.maxUnavailable`, maxUnavailable, "cannot be 0");
  yield* over100PercentErrors(maxUnavailable, `${field}.maxUnavailable`);
}

function* retentionErrors(retention: JsonObject): Generator<FieldError> {
  for (const when of ["whenDeleted", "whenScaled"]) {
    const policy = stringAt(retention, when);
    if (policy !== "Retain" && policy !== "Delete")
      yield unsupportedValue(`spec.persistentVolumeClaimRetentionPolicy.${when}`, policy, ["Retain", "Delete"]);
  }
}

function* claimsErrors(spec: JsonObject): Generator<FieldError> {
  const options = { hasAttributesClass: true, allowsInvalidApiGroup: false, allowsInvalidSelectorValues: false };
  for (const [index, claim] of objectsAt(spec, "volumeClaimTemplates").entries())
    yield* claimSpecErrors(objectAt(claim, "spec"), `spec.volumeClaimTemplates[${index}].spec`, options);
}

function* templateErrors(spec: JsonObject, check: StatefulSetCheck): Generator<FieldError> {
  const selector = selectorOf(spec);
  if (selector !== undefined && !isReadable(selector)) {
    yield invalidSelector(selector);
    return;
  }
  const field = "spec.template";
  if (!selects(selector, templateLabels(spec))) yield mismatchError(objectAt(spec, "template"), field);
  if (check.context.gates.isOn("StatefulSetTemplateValidation") && check.isTemplateTolerated !== true)
    yield* podTemplateErrors(templateWithClaims(spec), field, check.context);
  yield* labelsErrors(templateLabels(spec), `${field}.labels`);
  const metadata = objectAt(objectAt(spec, "template"), "metadata");
  yield* annotationsErrors(objectAt(metadata, "annotations"), `${field}.annotations`);
}

/** As kubernetes: only this error has no reason after the value. */
function invalidSelector(selector: JsonObject): FieldError {
  const message = `Invalid value: ${JSON.stringify(internalValue(selector, "L"))}`;
  return { field: "spec.selector", reason: "FieldValueInvalid", message };
}

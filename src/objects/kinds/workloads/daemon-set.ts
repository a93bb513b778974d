/** Defaults, validation and warnings of DaemonSets. */
import { invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, specOf, statusOf, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { isEmptySelector, labelSelectorErrors, nonNegativeErrors } from "../checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import { podTemplateErrors, setPodTemplateDefaults } from "../pods/pod-template.ts";
import { podTemplateWarnings } from "../pods/warnings/pod-warnings.ts";
import { countOf, intOrPercentErrors, over100PercentErrors } from "./int-or-percent.ts";
import {
  immutableSelectorErrors,
  isReadable,
  mismatchError,
  selectorOf,
  selects,
  templateLabels,
} from "./label-selection.ts";
import { forbiddenDeadlineErrors, restartErrors } from "./long-running-pods.ts";
import { collisionCountErrors, negativeCountErrors, setConditionTimes, setStatusCounts } from "./status-counts.ts";
import { setTemplateGeneration, templateGeneration, templateGenerationAfter } from "./template-generation.ts";
import { structAt, setEmpty } from "../defaults.ts";
import { internalValue } from "../internal-version/internal-value.ts";

const COUNTS_WRITTEN: readonly string[] = [
  "currentNumberScheduled",
  "numberMisscheduled",
  "desiredNumberScheduled",
  "numberReady",
];

export const DAEMON_SET: Kind = {
  setDefaults: setDaemonSetDefaults,
  prepareCreate(daemonSet) {
    daemonSet["status"] = {};
    setStatusCounts(daemonSet, COUNTS_WRITTEN);
    setTemplateGeneration(daemonSet, Math.max(templateGeneration(daemonSet), 1));
  },
  prepareUpdate(daemonSet, existing) {
    setTemplateGeneration(daemonSet, templateGenerationAfter(daemonSet, existing));
  },
  prepareStatusUpdate(daemonSet, existing) {
    setTemplateGeneration(daemonSet, templateGeneration(existing));
  },
  createErrors: daemonSetErrors,
  *updateErrors(daemonSet, existing, context) {
    yield* immutableSelectorErrors(specOf(daemonSet), specOf(existing));
    yield* daemonSetErrors(daemonSet, context);
  },
  statusUpdateErrors: statusErrors,
  *warnings(daemonSet, existing, context) {
    if (existing === undefined || templateGeneration(daemonSet) !== templateGeneration(existing))
      yield* podTemplateWarnings(objectAt(specOf(daemonSet), "template"), "spec.template", context);
  },
};

function setDaemonSetDefaults(daemonSet: JsonObject, context: KindContext): void {
  const spec = structAt(daemonSet, "spec");
  setPodTemplateDefaults(spec, context);
  const strategy = structAt(spec, "updateStrategy");
  setEmpty(strategy, { type: "RollingUpdate" });
  if (strategy["type"] === "RollingUpdate") {
    const rollingUpdate = structAt(strategy, "rollingUpdate");
    rollingUpdate["maxUnavailable"] ??= 1;
    rollingUpdate["maxSurge"] ??= 0;
  }
  spec["revisionHistoryLimit"] ??= 10;
  setTemplateGeneration(daemonSet, templateGeneration(daemonSet));
  setStatusCounts(daemonSet, COUNTS_WRITTEN);
  setConditionTimes(daemonSet, ["lastTransitionTime"]);
}

function* daemonSetErrors(daemonSet: JsonObject, context: KindContext): Generator<FieldError> {
  const spec = specOf(daemonSet);
  const selector = selectorOf(spec);
  const template = objectAt(spec, "template");
  const field = "spec.template";
  if (selector !== undefined) yield* labelSelectorErrors(selector, "spec.selector");
  if ((selector === undefined || isReadable(selector)) && !selects(selector, templateLabels(spec)))
    yield mismatchError(template, field);
  if (selector !== undefined && isEmptySelector(selector))
    yield invalidValue("spec.selector", internalValue(selector, "L"), "empty selector is invalid for daemonset");
  yield* podTemplateErrors(template, field, context);
  yield* restartErrors(template, field);
  yield* forbiddenDeadlineErrors(template, field, "DaemonSet");
  yield* nonNegativeErrors(numberAt(spec, "minReadySeconds"), "spec.minReadySeconds");
  yield* strategyErrors(objectAt(spec, "updateStrategy"));
  yield* nonNegativeErrors(numberAt(spec, "revisionHistoryLimit"), "spec.revisionHistoryLimit");
}

function* strategyErrors(strategy: JsonObject): Generator<FieldError> {
  const type = stringAt(strategy, "type");
  if (type === "RollingUpdate") {
    yield* rollingUpdateErrors(objectAt(strategy, "rollingUpdate"), "spec.updateStrategy.rollingUpdate");
  } else if (type !== "OnDelete") {
    const shown = internalValue(strategy, "DaemonSetUpdateStrategy");
    yield unsupportedValue("spec.updateStrategy", shown, ["RollingUpdate", "OnDelete"]);
  }
}

function* rollingUpdateErrors({ maxUnavailable, maxSurge }: JsonObject, field: string): Generator<FieldError> {
  yield* intOrPercentErrors(maxUnavailable, `${field}.maxUnavailable`);
  yield* intOrPercentErrors(maxSurge, `${field}.maxSurge`);
  yield* over100PercentErrors(maxUnavailable, `${field}.maxUnavailable`);
  yield* over100PercentErrors(maxSurge, `${field}.maxSurge`);
  const hasUnavailable = countOf(maxUnavailable) !== 0;
  const hasSurge = countOf(maxSurge) !== 0;
  if (hasUnavailable && hasSurge)
    yield invalidValue(`${field}.maxSurge`, maxSurge, "may not be set when maxUnavailable is non-zero");
  if (!hasUnavailable && !hasSurge) yield required(`${field}.maxUnavailable`, "cannot be 0 when maxSurge is 0");
}

const COUNTS: readonly string[] = [
  ...COUNTS_WRITTEN,
  "observedGeneration",
  "updatedNumberScheduled",
  "numberAvailable",
  "numberUnavailable",
  "collisionCount",
];

function* statusErrors(daemonSet: JsonObject, existing: JsonObject): Generator<FieldError> {
  yield* negativeCountErrors(statusOf(daemonSet), COUNTS);
  yield* collisionCountErrors(statusOf(daemonSet), statusOf(existing));
}

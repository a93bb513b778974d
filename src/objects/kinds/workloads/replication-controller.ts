/** Defaults, validation and warnings of ReplicationControllers. */
import { required } from "../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectAt, specOf, statusOf, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nonNegativeErrors } from "../checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import { podTemplateErrors, setPodTemplateDefaults } from "../pods/pod-template.ts";
import { mismatchError, selects, templateLabels } from "./label-selection.ts";
import {
  forbiddenDeadlineErrors,
  hasNewGeneration,
  nameWarnings,
  restartErrors,
  templateWarnings,
} from "./long-running-pods.ts";
import { replicaSetStatusErrors } from "./replica-set.ts";
import { setConditionTimes, setStatusCounts } from "./status-counts.ts";
import { structAt } from "../defaults.ts";

export const REPLICATION_CONTROLLER: Kind = {
  setDefaults: setControllerDefaults,
  prepareCreate(controller) {
    controller["status"] = { replicas: 0 };
  },
  createErrors: controllerErrors,
  updateErrors: (controller, _existing, context) => controllerErrors(controller, context),
  statusUpdateErrors: (controller) => replicaSetStatusErrors(statusOf(controller)),
  *warnings(controller, existing, context) {
    yield* nameWarnings(controller, existing);
    // As kubernetes: an update causes warnings about the stored template, not the new one.
    if (existing === undefined) yield* templateWarnings(controller, existing, context);
    else if (hasNewGeneration(controller, existing)) yield* templateWarnings(existing, undefined, context);
  },
};

/** An absent selector and absent labels default to the labels of the template. */
function setControllerDefaults(controller: JsonObject, context: KindContext): void {
  const spec = structAt(controller, "spec");
  spec["replicas"] ??= 1;
  setStatusCounts(controller, ["replicas"]);
  setConditionTimes(controller, ["lastTransitionTime"]);
  if (!isJsonObject(spec["template"])) return;
  setPodTemplateDefaults(spec, context);
  const labels = templateLabels(spec);
  if (Object.keys(labels).length === 0) return;
  if (Object.keys(objectAt(spec, "selector")).length === 0) spec["selector"] = { ...labels };
  const metadata = structAt(controller, "metadata");
  if (Object.keys(objectAt(metadata, "labels")).length === 0) metadata["labels"] = { ...labels };
}

function* controllerErrors(controller: JsonObject, context: KindContext): Generator<FieldError> {
  const spec = specOf(controller);
  const matchLabels = objectAt(spec, "selector");
  const isEmpty = Object.keys(matchLabels).length === 0;
  yield* nonNegativeErrors(numberAt(spec, "minReadySeconds"), "spec.minReadySeconds");
  if (isEmpty) yield required("spec.selector");
  yield* nonNegativeErrors(numberAt(spec, "replicas"), "spec.replicas");
  const { template } = spec;
  const field = "spec.template";
  if (!isJsonObject(template)) {
    yield required(field);
    return;
  }
  if (!isEmpty && !selects({ matchLabels }, templateLabels(spec))) yield mismatchError(template, field);
  yield* podTemplateErrors(template, field, context);
  yield* restartErrors(template, field);
  yield* forbiddenDeadlineErrors(template, field, "ReplicationController");
}

/** Defaults, validation and warnings of Deployments. */
import { forbiddenField, invalidValue, unsupportedValue } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, specOf, statusOf, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nonNegativeErrors } from "../checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import { setPodTemplateDefaults } from "../pods/pod-template.ts";
import { countOf, intOrPercentErrors, over100PercentErrors } from "./int-or-percent.ts";
import { immutableSelectorErrors } from "./label-selection.ts";
import { workloadWarnings } from "./long-running-pods.ts";
import { replicaTemplateErrors, selectorErrors } from "./replica-template.ts";
import { isSemanticallyEqual } from "../../../meta/semantic-equality.ts";
import { collisionCountErrors, replicaStatusErrors, setConditionTimes, setStatusCounts } from "./status-counts.ts";
import { dropTerminatingReplicas } from "./terminating-replicas.ts";
import { structAt, setEmpty } from "../defaults.ts";
import { internalValue } from "../internal-version/internal-value.ts";

export const DEPLOYMENT: Kind = {
  setDefaults: setDeploymentDefaults,
  prepareCreate(deployment) {
    deployment["status"] = {};
  },
  prepareUpdate: countAnnotations,
  prepareStatusUpdate(deployment, existing, context) {
    keepLabels(deployment, existing);
    dropTerminatingReplicas(deployment, existing, context);
  },
  createErrors: deploymentErrors,
  *updateErrors(deployment, existing, context) {
    yield* deploymentErrors(deployment, context);
    yield* immutableSelectorErrors(specOf(deployment), specOf(existing));
  },
  statusUpdateErrors: statusErrors,
  warnings: workloadWarnings,
};

function setDeploymentDefaults(deployment: JsonObject, context: KindContext): void {
  const spec = structAt(deployment, "spec");
  spec["replicas"] ??= 1;
  setPodTemplateDefaults(spec, context);
  const strategy = structAt(spec, "strategy");
  setEmpty(strategy, { type: "RollingUpdate" });
  if (strategy["type"] === "RollingUpdate") {
    const rollingUpdate = structAt(strategy, "rollingUpdate");
    rollingUpdate["maxUnavailable"] ??= "25%";
    rollingUpdate["maxSurge"] ??= "25%";
  }
  spec["revisionHistoryLimit"] ??= 10;
  spec["progressDeadlineSeconds"] ??= 600;
  setStatusCounts(deployment, []);
  setConditionTimes(deployment, ["lastUpdateTime", "lastTransitionTime"]);
}

/** Increments the generation if annotations change, because the controller copies annotations to ReplicaSets. */
function countAnnotations(deployment: JsonObject, existing: JsonObject): void {
  const metadata = objectAt(deployment, "metadata");
  const before = objectAt(existing, "metadata");
  if (isSemanticallyEqual({ annotations: metadata["annotations"] }, { annotations: before["annotations"] })) return;
  metadata["generation"] = Number(before["generation"] ?? 0) + 1;
}

function keepLabels(deployment: JsonObject, existing: JsonObject): void {
  const metadata = objectAt(deployment, "metadata");
  const { labels } = objectAt(existing, "metadata");
  if (labels === undefined) delete metadata["labels"];
  else metadata["labels"] = labels;
}

function* deploymentErrors(deployment: JsonObject, context: KindContext): Generator<FieldError> {
  const spec = specOf(deployment);
  yield* nonNegativeErrors(numberAt(spec, "replicas"), "spec.replicas");
  yield* selectorErrors(spec, "deployment");
  yield* replicaTemplateErrors(spec, context);
  yield* strategyErrors(objectAt(spec, "strategy"));
  yield* nonNegativeErrors(numberAt(spec, "minReadySeconds"), "spec.minReadySeconds");
  yield* nonNegativeErrors(numberAt(spec, "revisionHistoryLimit"), "spec.revisionHistoryLimit");
  const deadline = numberAt(spec, "progressDeadlineSeconds");
  yield* nonNegativeErrors(deadline, "spec.progressDeadlineSeconds");
  if (deadline !== undefined && deadline <= (numberAt(spec, "minReadySeconds") ?? 0))
    yield invalidValue("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds");
}

function* strategyErrors(strategy: JsonObject): Generator<FieldError> {
  const field = "spec.strategy.rollingUpdate";
  const type = stringAt(strategy, "type");
  const { rollingUpdate } = strategy;
  if (type === "RollingUpdate") {
    yield* rollingUpdateErrors(objectAt(strategy, "rollingUpdate"), field);
  } else if (type !== "Recreate") {
    yield unsupportedValue("spec.strategy", internalValue(strategy, "DeploymentStrategy"), [
      "Recreate",
      "RollingUpdate",
    ]);
  } else if (rollingUpdate !== undefined) {
    yield forbiddenField(field, "may not be specified when strategy `type` is 'Recreate'");
  }
}

function* rollingUpdateErrors({ maxUnavailable, maxSurge }: JsonObject, field: string): Generator<FieldError> {
  yield* intOrPercentErrors(maxUnavailable, `${field}.maxUnavailable`);
  yield* intOrPercentErrors(maxSurge, `${field}.maxSurge`);
  if (countOf(maxUnavailable) === 0 && countOf(maxSurge) === 0)
    yield invalidValue(`${field}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0");
  yield* over100PercentErrors(maxUnavailable, `${field}.maxUnavailable`);
}

const STATUS_COUNTS = {
  counts: [
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
  ],
  parts: ["updatedReplicas", "readyReplicas", "availableReplicas"],
  tooManyAvailable: "cannot be greater than readyReplicas",
} as const;

function* statusErrors(deployment: JsonObject, existing: JsonObject): Generator<FieldError> {
  yield* replicaStatusErrors(statusOf(deployment), STATUS_COUNTS);
  yield* collisionCountErrors(statusOf(deployment), statusOf(existing));
}

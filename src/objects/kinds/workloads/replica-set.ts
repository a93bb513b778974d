/** Defaults, validation and warnings of ReplicaSets. */
import { numberAt, specOf, statusOf, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nonNegativeErrors } from "../checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import { setPodTemplateDefaults } from "../pods/pod-template.ts";
import { immutableSelectorErrors } from "./label-selection.ts";
import { workloadWarnings } from "./long-running-pods.ts";
import { replicaTemplateErrors, selectorErrors } from "./replica-template.ts";
import { replicaStatusErrors, setConditionTimes, setStatusCounts } from "./status-counts.ts";
import { dropTerminatingReplicas } from "./terminating-replicas.ts";
import { structAt } from "../defaults.ts";

export const REPLICA_SET: Kind = {
  setDefaults(replicaSet, context) {
    const spec = structAt(replicaSet, "spec");
    spec["replicas"] ??= 1;
    setPodTemplateDefaults(spec, context);
    setStatusCounts(replicaSet, ["replicas"]);
    setConditionTimes(replicaSet, ["lastTransitionTime"]);
  },
  prepareCreate(replicaSet) {
    replicaSet["status"] = { replicas: 0 };
  },
  prepareStatusUpdate: dropTerminatingReplicas,
  createErrors: replicaSetErrors,
  *updateErrors(replicaSet, existing, context) {
    yield* replicaSetErrors(replicaSet, context);
    yield* immutableSelectorErrors(specOf(replicaSet), specOf(existing));
  },
  statusUpdateErrors: (replicaSet) => replicaSetStatusErrors(statusOf(replicaSet)),
  warnings: workloadWarnings,
};

function* replicaSetErrors(replicaSet: JsonObject, context: KindContext): Generator<FieldError> {
  const spec = specOf(replicaSet);
  yield* nonNegativeErrors(numberAt(spec, "replicas"), "spec.replicas");
  yield* nonNegativeErrors(numberAt(spec, "minReadySeconds"), "spec.minReadySeconds");
  // As kubernetes: the message names a deployment instead of a replica set.
  yield* selectorErrors(spec, "deployment");
  yield* replicaTemplateErrors(spec, context);
}

/** Validates the status of a ReplicaSet or a ReplicationController. */
export function replicaSetStatusErrors(status: JsonObject): Iterable<FieldError> {
  return replicaStatusErrors(status, {
    counts: [
      "replicas",
      "fullyLabeledReplicas",
      "readyReplicas",
      "availableReplicas",
      "observedGeneration",
      "terminatingReplicas",
    ],
    parts: ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
    tooManyAvailable: "cannot be greater than readyReplicas",
  });
}

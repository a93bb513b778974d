/** StatefulSets: pods with names and claims of their own. */
import { forbiddenField } from "../../meta/field-errors.ts";
import { objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { numberAt } from "../checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import { setPodTemplateDefaults } from "../pods/pod-template.ts";
import { setClaimDefaults } from "./claim-templates.ts";
import { templateWarnings } from "./lasting-pods.ts";
import { ensureMember, setText, specOf, statusOf } from "./members.ts";
import { isSemanticallyEqual } from "./semantic-equality.ts";
import { isStatefulSetSpecValid, statefulSetSpecErrors } from "./stateful-set-rules.ts";
import {
  availableErrors,
  collisionCountErrors,
  negativeCountErrors,
  replicaCountErrors,
  setStatusCounts,
} from "./status-counts.ts";

export const STATEFUL_SET: Kind = {
  setDefaults: setStatefulSetDefaults,
  prepareCreate(statefulSet) {
    statefulSet["status"] = { replicas: 0, availableReplicas: 0 };
    dropMaxUnavailable(statefulSet);
  },
  prepareUpdate(statefulSet, existing) {
    if (rollingUpdateOf(existing)["maxUnavailable"] === undefined) dropMaxUnavailable(statefulSet);
  },
  createErrors: (statefulSet, context) => statefulSetSpecErrors(specOf(statefulSet), { context, isNew: true }),
  updateErrors,
  statusUpdateErrors: statusErrors,
  *warnings(statefulSet, existing, context) {
    yield* templateWarnings(statefulSet, existing, context);
    if ((numberAt(specOf(statefulSet), "revisionHistoryLimit") ?? 0) < 0)
      yield "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
  },
};

function setStatefulSetDefaults(statefulSet: JsonObject, context: KindContext): void {
  const spec = ensureMember(statefulSet, "spec");
  spec["replicas"] ??= 1;
  spec["serviceName"] ??= "";
  setPodTemplateDefaults(spec, context);
  setClaimDefaults(statefulSet);
  setText(spec, "podManagementPolicy", "OrderedReady");
  setStrategyDefaults(ensureMember(spec, "updateStrategy"));
  spec["revisionHistoryLimit"] ??= 10;
  const retention = ensureMember(spec, "persistentVolumeClaimRetentionPolicy");
  setText(retention, "whenDeleted", "Retain");
  setText(retention, "whenScaled", "Retain");
  setStatusCounts(statefulSet, ["replicas", "availableReplicas"]);
}

function setStrategyDefaults(strategy: JsonObject): void {
  if (stringAt(strategy, "type") === "") {
    strategy["type"] = "RollingUpdate";
    ensureMember(strategy, "rollingUpdate");
  }
  if (strategy["type"] === "RollingUpdate" && strategy["rollingUpdate"] !== undefined)
    objectAt(strategy, "rollingUpdate")["partition"] ??= 0;
}

function rollingUpdateOf(statefulSet: JsonObject): JsonObject {
  return objectAt(objectAt(specOf(statefulSet), "updateStrategy"), "rollingUpdate");
}

/** The feature behind it is off in every release. */
function dropMaxUnavailable(statefulSet: JsonObject): void {
  const spec = specOf(statefulSet);
  const { maxUnavailable, ...rollingUpdate } = rollingUpdateOf(statefulSet);
  if (maxUnavailable !== undefined) spec["updateStrategy"] = { ...objectAt(spec, "updateStrategy"), rollingUpdate };
}

const MUTABLE: readonly string[] = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
];

function* updateErrors(statefulSet: JsonObject, existing: JsonObject, context: KindContext): Generator<FieldError> {
  const spec = specOf(statefulSet);
  const before = specOf(existing);
  // A template that was stored before it was checked does not stand in the way of other changes.
  const isTemplateTolerated = !isStatefulSetSpecValid(before, context);
  yield* statefulSetSpecErrors(spec, { context, isNew: false, isTemplateTolerated });
  if (!isSemanticallyEqual(withoutMutable(spec), withoutMutable(before)))
    yield forbiddenField(
      "spec",
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    );
}

function withoutMutable(spec: JsonObject): JsonObject {
  const fixed = { ...spec };
  for (const member of MUTABLE) delete fixed[member];
  return fixed;
}

const COUNTS: readonly string[] = [
  "replicas",
  "readyReplicas",
  "currentReplicas",
  "updatedReplicas",
  "availableReplicas",
  "observedGeneration",
  "collisionCount",
];

function* statusErrors(statefulSet: JsonObject, existing: JsonObject): Generator<FieldError> {
  const status = statusOf(statefulSet);
  yield* negativeCountErrors(status, COUNTS);
  yield* replicaCountErrors(status, ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"]);
  yield* availableErrors(status, "cannot be greater than status.readyReplicas");
  yield* collisionCountErrors(status, statusOf(existing));
}

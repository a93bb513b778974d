/** Defaults, validation and warnings of StatefulSets. */
import { forbiddenField } from "../../../meta/field-errors.ts";
import {
  isJsonObject,
  numberAt,
  objectAt,
  objectsAt,
  specOf,
  statusOf,
  stringAt,
  type JsonObject,
} from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { Kind, KindContext } from "../kind.ts";
import { setPodTemplateDefaults } from "../pods/pod-template.ts";
import { fractionalWarnings } from "../pods/warnings/container-warnings.ts";
import { setClaimDefaults } from "./claim-templates.ts";
import { templateWarnings } from "./long-running-pods.ts";
import { isSemanticallyEqual } from "../../../meta/semantic-equality.ts";
import { isStatefulSetSpecValid, statefulSetSpecErrors } from "./stateful-set-rules.ts";
import { collisionCountErrors, replicaStatusErrors, setConditionTimes, setStatusCounts } from "./status-counts.ts";
import { structAt, setEmpty } from "../defaults.ts";

export const STATEFUL_SET: Kind = {
  setDefaults: setStatefulSetDefaults,
  prepareCreate(statefulSet, { gates }) {
    statefulSet["status"] = { replicas: 0, availableReplicas: 0 };
    if (!gates.isOn("MaxUnavailableStatefulSet")) dropMaxUnavailable(statefulSet);
  },
  prepareUpdate(statefulSet, existing, { gates }) {
    const isKnown = gates.isOn("MaxUnavailableStatefulSet");
    if (!isKnown && rollingUpdateOf(existing)["maxUnavailable"] === undefined) dropMaxUnavailable(statefulSet);
  },
  createErrors: (statefulSet, context) => statefulSetSpecErrors(specOf(statefulSet), { context, isNew: true }),
  updateErrors,
  statusUpdateErrors: statusErrors,
  *warnings(statefulSet, existing, context) {
    yield* templateWarnings(statefulSet, existing, context);
    for (const [index, claim] of objectsAt(specOf(statefulSet), "volumeClaimTemplates").entries()) {
      const field = `spec.volumeClaimTemplates[${index}]`;
      // As kubernetes: on an update, the path in the warning ends with `Spec`.
      yield* claimWarnings(claim, existing === undefined ? field : `${field}.Spec`);
    }
    if ((numberAt(specOf(statefulSet), "revisionHistoryLimit") ?? 0) < 0)
      yield "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
  },
};

function* claimWarnings(claim: JsonObject, field: string): Generator<string> {
  const resources = objectAt(objectAt(claim, "spec"), "resources");
  for (const amounts of ["requests", "limits"])
    yield* fractionalWarnings(objectAt(resources, amounts), `${field}.resources.${amounts}`, ["storage"]);
}

function setStatefulSetDefaults(statefulSet: JsonObject, context: KindContext): void {
  const spec = structAt(statefulSet, "spec");
  spec["replicas"] ??= 1;
  spec["serviceName"] ??= "";
  setPodTemplateDefaults(spec, context);
  setClaimDefaults(statefulSet);
  if (isJsonObject(spec["ordinals"])) spec["ordinals"]["start"] ??= 0;
  setEmpty(spec, { podManagementPolicy: "OrderedReady" });
  setStrategyDefaults(structAt(spec, "updateStrategy"), context);
  spec["revisionHistoryLimit"] ??= 10;
  const retention = structAt(spec, "persistentVolumeClaimRetentionPolicy");
  setEmpty(retention, { whenDeleted: "Retain", whenScaled: "Retain" });
  setStatusCounts(statefulSet, ["replicas", "availableReplicas"]);
  setConditionTimes(statefulSet, ["lastTransitionTime"]);
}

function setStrategyDefaults(strategy: JsonObject, { gates }: KindContext): void {
  if (stringAt(strategy, "type") === "") {
    strategy["type"] = "RollingUpdate";
    structAt(strategy, "rollingUpdate");
  }
  if (strategy["type"] !== "RollingUpdate" || strategy["rollingUpdate"] === undefined) return;
  const rollingUpdate = objectAt(strategy, "rollingUpdate");
  rollingUpdate["partition"] ??= 0;
  if (gates.isOn("MaxUnavailableStatefulSet")) rollingUpdate["maxUnavailable"] ??= 1;
}

function rollingUpdateOf(statefulSet: JsonObject): JsonObject {
  return objectAt(objectAt(specOf(statefulSet), "updateStrategy"), "rollingUpdate");
}

/** Drops maxUnavailable, whose feature gate is off by default up to 1.36. */
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
  // If the stored spec is already invalid, errors of the template are tolerated, so that other changes remain possible.
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

const STATUS_COUNTS = {
  counts: [
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
  ],
  parts: ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
  tooManyAvailable: "cannot be greater than status.readyReplicas",
} as const;

function* statusErrors(statefulSet: JsonObject, existing: JsonObject): Generator<FieldError> {
  yield* replicaStatusErrors(statusOf(statefulSet), STATUS_COUNTS);
  yield* collisionCountErrors(statusOf(statefulSet), statusOf(existing));
}

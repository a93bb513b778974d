/** Validation of updates of a Job's spec. */
import { invalidGoValue, invalidValue } from "../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectAt, objectsAt, specOf, statusOf, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { KindContext } from "../kind.ts";
import { isTrue, conditionsOf } from "../storage-versions/conditions.ts";
import { isIndexed } from "./job-rules.ts";
import { immutableSelectorErrors } from "./label-selection.ts";
import type { ReleaseGates } from "../../release-gates.ts";
import { isSemanticallyEqual } from "../../../meta/semantic-equality.ts";
import { internalValue } from "../internal-version/internal-value.ts";

const IMMUTABLE = "field is immutable";

export function* jobChangeErrors(job: JsonObject, existing: JsonObject, context: KindContext): Generator<FieldError> {
  const spec = specOf(job);
  const before = specOf(existing);
  yield* completionsErrors(spec, before);
  yield* immutableSelectorErrors(spec, before);
  yield* templateErrors(spec, existing, context);
  const unchanged = { spec, before };
  yield* memberErrors(unchanged, "completionMode", spec["completionMode"]);
  yield* memberErrors(unchanged, "podFailurePolicy", internalValue(spec["podFailurePolicy"], "*PodFailurePolicy"));
  yield* memberErrors(unchanged, "backoffLimitPerIndex", spec["backoffLimitPerIndex"]);
  yield* memberErrors(unchanged, "managedBy", spec["managedBy"]);
  yield* memberErrors(unchanged, "successPolicy", internalValue(spec["successPolicy"], "*SuccessPolicy"));
}

function* memberErrors(
  { spec, before }: { spec: JsonObject; before: JsonObject },
  member: string,
  shown: unknown,
): Generator<FieldError> {
  if (!isSemanticallyEqual(spec[member], before[member])) yield invalidValue(`spec.${member}`, shown, IMMUTABLE);
}

function* completionsErrors(spec: JsonObject, before: JsonObject): Generator<FieldError> {
  const completions = numberAt(spec, "completions");
  if (completions === numberAt(before, "completions")) return;
  if (!isIndexed(spec)) yield invalidValue("spec.completions", completions, IMMUTABLE);
  else if (completions !== undefined && completions !== numberAt(spec, "parallelism"))
    yield invalidValue("spec.completions", completions, "can only be modified in tandem with spec.parallelism");
}

function* templateErrors(spec: JsonObject, existing: JsonObject, context: KindContext): Generator<FieldError> {
  const { gates } = context;
  const before = specOf(existing);
  const template = objectAt(spec, "template");
  const isSuspended = before["suspend"] === true;
  const isIdle = isSuspended && isAtRest(existing, gates);
  const compared = isIdle ? withSchedulingOf(template, objectAt(before, "template")) : objectAt(before, "template");
  if (isIdle && gates.isOn("MutablePodResourcesForSuspendedJobs")) {
    const podSpec = objectAt(template, "spec");
    if (!isSemanticallyEqual(podSpec, withResourcesOf(podSpec, objectAt(compared, "spec"))))
      yield invalidGoValue("spec.template.spec", internalValue(podSpec, "PodSpec", context), IMMUTABLE);
  } else if (!isSemanticallyEqual(template, compared)) {
    yield invalidGoValue("spec.template", internalValue(template, "PodTemplateSpec", context), IMMUTABLE);
  }
}

/**
 * Whether the Job has not started. If the release supports it, the Job may also be suspended, but must have no active
 * pods.
 */
function isAtRest(job: JsonObject, gates: ReleaseGates): boolean {
  const status = statusOf(job);
  const isNotStarted = status["startTime"] === undefined;
  if (!gates.isOn("MutableSchedulingDirectivesForSuspendedJobs")) return isNotStarted;
  const hasStopped = isTrue(conditionsOf(status), "Suspended");
  return (isNotStarted || hasStopped) && (numberAt(status, "active") ?? 0) === 0;
}

/** The stored template with the scheduling fields of the new one. */
function withSchedulingOf(template: JsonObject, before: JsonObject): JsonObject {
  const spec = objectAt(template, "spec");
  const { annotations, labels } = objectAt(template, "metadata");
  return {
    ...before,
    metadata: { ...objectAt(before, "metadata"), annotations, labels },
    spec: {
      ...objectAt(before, "spec"),
      affinity: withNodeAffinityOf(spec["affinity"], objectAt(before, "spec")["affinity"]),
      nodeSelector: spec["nodeSelector"],
      tolerations: spec["tolerations"],
      schedulingGates: spec["schedulingGates"],
    },
  };
}

function withNodeAffinityOf(affinity: unknown, before: unknown): unknown {
  if (isJsonObject(affinity))
    return { ...(isJsonObject(before) ? before : {}), nodeAffinity: affinity["nodeAffinity"] };
  if (!isJsonObject(before)) return before;
  const { nodeAffinity: _free, ...rest } = before;
  return Object.keys(rest).length === 0 ? undefined : rest;
}

function withResourcesOf(podSpec: JsonObject, before: JsonObject): JsonObject {
  const changed = { ...before };
  for (const list of ["containers", "initContainers"]) {
    const containers = objectsAt(podSpec, list);
    const past = objectsAt(before, list);
    if (past.length !== containers.length || past.length === 0) continue;
    changed[list] = past.map((container, index) =>
      container["name"] === containers[index]!["name"]
        ? { ...container, resources: containers[index]!["resources"] }
        : container,
    );
  }
  return changed;
}

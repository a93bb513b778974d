/** Validation of the status of a Job: the state transitions on which clients rely. */
import { duplicateValue, invalidValue, required } from "../../../meta/field-errors.ts";
import {
  isJsonObject,
  numberAt,
  objectAt,
  objectsAt,
  specOf,
  statusOf,
  stringAt,
  stringsAt,
  type JsonObject,
} from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { countAt } from "../checks.ts";
import type { KindContext } from "../kind.ts";
import { commonIndex, countIndexes } from "./job-indexes.ts";
import { invalidWithoutValue } from "./job-policies.ts";
import { isIndexed } from "./job-rules.ts";
import { negativeCountErrors } from "./status-counts.ts";
import type { ReleaseGates } from "../../release-gates.ts";
import { isSemanticallyEqual } from "../../../meta/semantic-equality.ts";

const CONDITIONS = "status.conditions";

/** The stored and the new status of a Job, and which fields have changed. Unchanged fields remain valid. */
interface Change {
  readonly spec: JsonObject;
  readonly status: JsonObject;
  readonly before: JsonObject;
  readonly gates: ReleaseGates;
  readonly hasChanged: (member: string) => boolean;
  readonly hasTurned: (...conditions: string[]) => boolean;
}

export function* jobStatusErrors(job: JsonObject, existing: JsonObject, context: KindContext): Generator<FieldError> {
  const status = statusOf(job);
  const before = statusOf(existing);
  const change: Change = {
    spec: specOf(job),
    status,
    before,
    gates: context.gates,
    hasChanged: (member) => !isSemanticallyEqual({ member: status[member] }, { member: before[member] }),
    hasTurned: (...types) => types.some((type) => isTrue(status, type)) !== types.some((type) => isTrue(before, type)),
  };
  yield* negativeCountErrors(status, ["active", "succeeded", "failed", "ready", "terminating"]);
  yield* uncountedErrors(objectAt(status, "uncountedTerminatedPods"));
  yield* completionErrors(change);
  yield* finishedErrors(change);
  yield* indexErrors(change);
  yield* podCountErrors(change);
  yield* successErrors(change);
  yield* transitionErrors(change);
}

function isTrue(status: JsonObject, type: string): boolean {
  return hasCondition(status, type, "True");
}

function hasCondition(status: JsonObject, type: string, value: string): boolean {
  return objectsAt(status, "conditions").some(
    (condition) => condition["type"] === type && condition["status"] === value,
  );
}

function isFinished(status: JsonObject): boolean {
  return isTrue(status, "Complete") || isTrue(status, "Failed");
}

function* uncountedErrors(uncounted: JsonObject): Generator<FieldError> {
  const seen = new Set<string>();
  for (const outcome of ["succeeded", "failed"]) {
    for (const [index, uid] of stringsAt(uncounted, outcome).entries()) {
      const field = `status.uncountedTerminatedPods.${outcome}[${index}]`;
      if (uid === "") yield invalidValue(field, uid, "must not be empty");
      else if (seen.has(uid)) yield duplicateValue(field, uid);
      seen.add(uid);
    }
  }
}

function* completionErrors(change: Change): Generator<FieldError> {
  yield* conflictErrors(change);
  yield* completionTimeErrors(change);
  yield* missingConditionErrors(change);
}

function* conflictErrors({ status, hasTurned }: Change): Generator<FieldError> {
  const isComplete = isTrue(status, "Complete");
  if ((hasTurned("Complete") || hasTurned("Failed")) && isComplete && isTrue(status, "Failed"))
    yield invalidWithoutValue(CONDITIONS, "cannot set Complete=True and Failed=true conditions");
  if ((hasTurned("Complete") || hasTurned("FailureTarget")) && isComplete && isTrue(status, "FailureTarget"))
    yield invalidWithoutValue(CONDITIONS, "cannot set Complete=True and FailureTarget=true conditions");
}

function* completionTimeErrors({ status, gates, hasChanged, hasTurned }: Change): Generator<FieldError> {
  const isComplete = isTrue(status, "Complete");
  const { completionTime, startTime } = status;
  const field = "status.completionTime";
  if (hasTurned("Complete") || hasChanged("completionTime")) {
    if (completionTime !== undefined && !isComplete)
      yield invalidValue(field, completionTime, "cannot set completionTime when there is no Complete=True condition");
    if (completionTime === undefined && isComplete)
      yield required(field, "completionTime is required for Complete jobs");
  }
  if ((hasChanged("startTime") || hasChanged("completionTime")) && isBefore(completionTime, startTime)) {
    const isShort = gates.isOn("JobStatusErrorsWithoutFieldNames");
    const why = isShort ? "must be equal to or after `startTime`" : "completionTime cannot be set before startTime";
    yield invalidValue(field, completionTime, why);
  }
}

function* missingConditionErrors({ status, hasChanged, hasTurned }: Change): Generator<FieldError> {
  const isComplete = isTrue(status, "Complete");
  if (
    (hasTurned("Failed") || hasChanged("failedIndexes")) &&
    isTrue(status, "Failed") &&
    !isTrue(status, "FailureTarget")
  )
    yield invalidWithoutValue(CONDITIONS, "cannot set Failed=True condition without the FailureTarget=true condition");
  if ((hasTurned("Complete") || hasTurned("SuccessCriteriaMet")) && isComplete && !isTrue(status, "SuccessCriteriaMet"))
    yield invalidWithoutValue(
      CONDITIONS,
      "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    );
}

function isBefore(time: unknown, other: unknown): boolean {
  return typeof time === "string" && typeof other === "string" && Date.parse(time) < Date.parse(other);
}

function* finishedErrors({ spec, status, gates, hasChanged, hasTurned }: Change): Generator<FieldError> {
  if (!isFinished(status)) return;
  const hasEnded = hasTurned("Complete", "Failed");
  if ((hasEnded || hasChanged("active")) && countAt(status, "active") > 0)
    yield invalidValue("status.active", countAt(status, "active"), "active>0 is invalid for finished job");
  const isNeverStarted =
    gates.isOn("JobFinishedWithoutStartTime") && spec["suspend"] === true && numberAt(spec, "completions") === 0;
  if ((hasEnded || hasChanged("startTime")) && !isNeverStarted && status["startTime"] === undefined)
    yield required("status.startTime", "startTime is required for finished job");
  if (hasEnded || hasChanged("uncountedTerminatedPods")) yield* stillUncountedErrors(status, gates);
}

function* stillUncountedErrors(status: JsonObject, gates: ReleaseGates): Generator<FieldError> {
  const uncounted = objectAt(status, "uncountedTerminatedPods");
  if ([...stringsAt(uncounted, "failed"), ...stringsAt(uncounted, "succeeded")].length === 0) return;
  const shown = { Succeeded: uncounted["succeeded"] ?? null, Failed: uncounted["failed"] ?? null };
  const isShort = gates.isOn("JobStatusErrorsWithoutFieldNames");
  const why = isShort ? "must be empty for finished job" : "uncountedTerminatedPods needs to be empty for finished job";
  yield invalidValue("status.uncountedTerminatedPods", shown, why);
}

function* indexErrors({ spec, status, hasChanged }: Change): Generator<FieldError> {
  const completions = numberAt(spec, "completions");
  const completed = stringAt(status, "completedIndexes");
  const { failedIndexes: failed } = status;
  const isCompletedNew = hasChanged("completedIndexes");
  const isFailedNew = hasChanged("failedIndexes");
  const hasLimit = spec["backoffLimitPerIndex"] !== undefined;
  if (isCompletedNew && completions !== undefined) yield* formatErrors(completed, completions, "completedIndexes");
  if (isFailedNew && completions !== undefined && hasLimit && typeof failed === "string")
    yield* formatErrors(failed, completions, "failedIndexes");
  if (isCompletedNew && completed !== "" && !isIndexed(spec))
    yield invalidValue(
      "status.completedIndexes",
      completed,
      "cannot set non-empty completedIndexes when non-indexed completion mode",
    );
  if (isFailedNew && !hasLimit && failed !== undefined)
    yield invalidValue(
      "status.failedIndexes",
      failed,
      "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
    );
  if (isFailedNew || isCompletedNew) yield* overlapErrors(completed, failed, completions);
}

function* overlapErrors(completed: string, failed: unknown, completions: number | undefined): Generator<FieldError> {
  if (completions === undefined || typeof failed !== "string") return;
  const common = commonIndex(completed, failed, completions);
  const why = `failedIndexes and completedIndexes overlap at index: ${common}`;
  if (common !== undefined) yield invalidValue("status.failedIndexes", failed, why);
}

function* formatErrors(indexes: string, completions: number, member: string): Generator<FieldError> {
  const counted = countIndexes(indexes, completions);
  if (typeof counted === "string")
    yield invalidValue(`status.${member}`, indexes, `error parsing ${member}: ${counted}`);
}

function* podCountErrors({ status, hasChanged, hasTurned }: Change): Generator<FieldError> {
  const terminating = countAt(status, "terminating");
  if ((hasTurned("Complete", "Failed") || hasChanged("terminating")) && terminating > 0 && isFinished(status))
    yield invalidValue("status.terminating", terminating, "terminating>0 is invalid for finished job");
  const ready = countAt(status, "ready");
  if ((hasChanged("ready") || hasChanged("active")) && ready > countAt(status, "active"))
    yield invalidValue("status.ready", ready, "cannot set more ready pods than active");
}

function* successErrors({ spec, status }: Change): Generator<FieldError> {
  const isMet = isTrue(status, "SuccessCriteriaMet");
  if (isMet && isTrue(status, "Failed"))
    yield invalidWithoutValue(CONDITIONS, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
  if (isMet && isTrue(status, "FailureTarget"))
    yield invalidWithoutValue(CONDITIONS, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
  if (isJsonObject(spec["successPolicy"]) && !isMet && isTrue(status, "Complete"))
    yield invalidWithoutValue(
      CONDITIONS,
      "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
    );
}

function* transitionErrors(change: Change): Generator<FieldError> {
  const { spec, status, before } = change;
  for (const type of ["Failed", "Complete", "FailureTarget"])
    if (isTrue(before, type) && !isTrue(status, type))
      yield invalidWithoutValue(CONDITIONS, `cannot disable the terminal ${type}=True condition`);
  const mayShrink = isIndexed(spec) && numberAt(spec, "completions") === numberAt(spec, "parallelism");
  if (countAt(status, "failed") < countAt(before, "failed"))
    yield invalidValue("status.failed", countAt(status, "failed"), "cannot decrease the failed counter");
  if (!mayShrink && countAt(status, "succeeded") < countAt(before, "succeeded"))
    yield invalidValue("status.succeeded", countAt(status, "succeeded"), "cannot decrease the succeeded counter");
  yield* timeErrors(change);
  const isMet = isTrue(status, "SuccessCriteriaMet");
  const wasMet = isTrue(before, "SuccessCriteriaMet");
  if (wasMet && !isMet) yield invalidWithoutValue(CONDITIONS, "cannot disable the SuccessCriteriaMet=True condition");
  if (isTrue(before, "Complete") && !wasMet && isMet)
    yield invalidWithoutValue(
      CONDITIONS,
      "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
    );
}

function* timeErrors({ spec, status, before, gates, hasChanged }: Change): Generator<FieldError> {
  const { completionTime, startTime } = status;
  if (completionTime !== undefined && before["completionTime"] !== undefined && hasChanged("completionTime")) {
    const why = gates.isOn("JobStatusErrorsWithoutFieldNames")
      ? "field is immutable"
      : "completionTime cannot be mutated";
    yield invalidValue("status.completionTime", completionTime, why);
  }
  const isResuming = hasCondition(before, "Suspended", "True") && hasCondition(status, "Suspended", "False");
  const isFixed = before["startTime"] !== undefined && spec["suspend"] !== true && hasChanged("startTime");
  if (!isFixed || (isResuming && gates.isOn("JobStartTimeMutableOnResume"))) return;
  if (gates.isOn("JobStartTimeMutableOnResume"))
    yield invalidValue("status.startTime", startTime, "field is immutable for unsuspended job once set");
  else yield required("status.startTime", "startTime cannot be removed for unsuspended job");
}

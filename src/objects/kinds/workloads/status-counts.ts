/** Defaults and validation of the counts in the status of a workload. */
import { invalidValue } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, objectsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { countAt, nonNegativeErrors } from "../checks.ts";
import { setTimes } from "../pods/pod-status-defaults.ts";

/** Sets absent counts to 0 in place. */
export function setStatusCounts(object: JsonObject, counts: readonly string[]): void {
  const status = objectAt(object, "status");
  for (const count of counts) status[count] ??= 0;
  object["status"] = status;
}

/** Sets missing times in place. As kubernetes: an unknown time is written as null. */
export function setConditionTimes(object: JsonObject, times: readonly string[]): void {
  setTimes(objectsAt(objectAt(object, "status"), "conditions"), times);
}

export function* negativeCountErrors(status: JsonObject, counts: readonly string[]): Generator<FieldError> {
  for (const count of counts) yield* nonNegativeErrors(numberAt(status, count), `status.${count}`);
}

interface StatusCounts {
  /** Counts that cannot be negative. */
  readonly counts: readonly string[];
  /** Counts that cannot exceed the count of replicas. */
  readonly parts: readonly string[];
  readonly tooManyAvailable: string;
}

/** Ready replicas cannot exceed all replicas, and available replicas cannot exceed ready ones. */
export function* replicaStatusErrors(
  status: JsonObject,
  { counts, parts, tooManyAvailable }: StatusCounts,
): Generator<FieldError> {
  yield* negativeCountErrors(status, counts);
  for (const part of parts)
    if (countAt(status, part) > countAt(status, "replicas"))
      yield invalidValue(`status.${part}`, countAt(status, part), "cannot be greater than status.replicas");
  const available = countAt(status, "availableReplicas");
  if (available > countAt(status, "readyReplicas"))
    yield invalidValue("status.availableReplicas", available, tooManyAvailable);
}

export function* collisionCountErrors(status: JsonObject, before: JsonObject): Generator<FieldError> {
  const count = numberAt(status, "collisionCount");
  const past = numberAt(before, "collisionCount");
  if (past !== undefined && (count === undefined || count < past))
    yield invalidValue("status.collisionCount", count ?? 0, "cannot be decremented");
}

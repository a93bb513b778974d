/** What holds for the numbers in a workload's status. */
import { invalidValue } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, objectsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { countAt, nonNegativeErrors } from "../checks.ts";
import { setTimes } from "../pods/pod-status-defaults.ts";

/** In place: members that are written even when nothing is counted. */
export function setStatusCounts(object: JsonObject, counts: readonly string[]): void {
  const status = objectAt(object, "status");
  for (const count of counts) status[count] ??= 0;
  object["status"] = status;
}

/** In place: as kubernetes, a time that is not known is written all the same, as null. */
export function setConditionTimes(object: JsonObject, times: readonly string[]): void {
  setTimes(objectsAt(objectAt(object, "status"), "conditions"), times);
}

export function* negativeCountErrors(status: JsonObject, counts: readonly string[]): Generator<FieldError> {
  for (const count of counts) yield* nonNegativeErrors(numberAt(status, count), `status.${count}`);
}

interface StatusCounts {
  /** None is negative. */
  readonly counts: readonly string[];
  /** None is more than all replicas. */
  readonly parts: readonly string[];
  readonly tooManyAvailable: string;
}

/** Of all replicas some are ready, of those some available. */
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

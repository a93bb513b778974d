/** What holds for the numbers in a workload's status. */
import { invalidValue } from "../../meta/field-errors.ts";
import { objectAt, type JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { nonNegativeErrors, numberAt } from "../checks.ts";

/** In place: members that are written even when nothing is counted. */
export function setStatusCounts(object: JsonObject, counts: readonly string[]): void {
  const status = objectAt(object, "status");
  for (const count of counts) status[count] ??= 0;
  object["status"] = status;
}

export function* negativeCountErrors(status: JsonObject, counts: readonly string[]): Generator<FieldError> {
  for (const count of counts) yield* nonNegativeErrors(numberAt(status, count), `status.${count}`);
}

/** Of all replicas some are ready, of those some available. */
export function* replicaCountErrors(status: JsonObject, parts: readonly string[]): Generator<FieldError> {
  for (const part of parts)
    if (countAt(status, part) > countAt(status, "replicas"))
      yield invalidValue(`status.${part}`, countAt(status, part), "cannot be greater than status.replicas");
}

export function* availableErrors(status: JsonObject, why: string): Generator<FieldError> {
  const available = countAt(status, "availableReplicas");
  if (available > countAt(status, "readyReplicas")) yield invalidValue("status.availableReplicas", available, why);
}

export function* collisionCountErrors(status: JsonObject, before: JsonObject): Generator<FieldError> {
  const count = numberAt(status, "collisionCount");
  const past = numberAt(before, "collisionCount");
  if (past !== undefined && (count === undefined || count < past))
    yield invalidValue("status.collisionCount", count ?? 0, "cannot be decremented");
}

export function countAt(status: JsonObject, count: string): number {
  return numberAt(status, count) ?? 0;
}

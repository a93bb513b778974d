/** Sets a condition in the status of a pod. */
import { objectAt, objectsAt, type JsonObject } from "../../../meta/json.ts";

/** A pod condition that the server sets. */
interface PodCondition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason?: string;
  readonly message?: string;
}

export function podConditions(object: JsonObject): JsonObject[] {
  return objectsAt(objectAt(object, "status"), "conditions");
}

export function isPodConditionTrue(object: JsonObject, type: string): boolean {
  return podConditions(object).some((condition) => condition["type"] === type && condition["status"] === "True");
}

/**
 * Returns the pod with the condition, which replaces one of the same type. If the status of the condition is unchanged,
 * its transition time is kept.
 */
export function withPodCondition(pod: JsonObject, condition: PodCondition, now: string): JsonObject {
  const before = podConditions(pod);
  const at = before.findIndex((candidate) => candidate["type"] === condition.type);
  const known = before[at];
  const since = known?.["status"] === condition.status ? known["lastTransitionTime"] : now;
  const next: JsonObject = { ...condition, lastProbeTime: null, lastTransitionTime: since ?? null };
  const conditions = at < 0 ? [...before, next] : before.with(at, next);
  return { ...pod, status: { ...objectAt(pod, "status"), conditions } };
}

/** Reading the members of a workload. */
import { objectAt, type JsonObject } from "../../../meta/json.ts";

export function specOf(object: JsonObject): JsonObject {
  return objectAt(object, "spec");
}

export function statusOf(object: JsonObject): JsonObject {
  return objectAt(object, "status");
}

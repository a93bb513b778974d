/** Reading and making members of a workload. */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";

export function specOf(object: JsonObject): JsonObject {
  return objectAt(object, "spec");
}

export function statusOf(object: JsonObject): JsonObject {
  return objectAt(object, "status");
}

/** In place: the member, made when it is absent. */
export function ensureMember(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  if (isJsonObject(value)) return value;
  const made: JsonObject = {};
  parent[key] = made;
  return made;
}

/** In place: in Go, an empty text is one that was not given. */
export function setText(parent: JsonObject, key: string, text: string): void {
  if (stringAt(parent, key) === "") parent[key] = text;
}

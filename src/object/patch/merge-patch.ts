/** RFC 7386: null removes, objects merge, everything else replaces. Never modifies its input. */
import { isJsonObject, setMember, type JsonObject } from "../../meta/json.ts";

export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const merged: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const key of Object.keys(patch)) {
    if (patch[key] === null) delete merged[key];
    else setMember(merged, key, applyMergePatch(Object.hasOwn(merged, key) ? merged[key] : undefined, patch[key]));
  }
  return merged;
}

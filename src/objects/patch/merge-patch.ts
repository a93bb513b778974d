/**
 * Applies a JSON Merge Patch (RFC 7386): null removes a field, objects are merged, and every other value replaces the
 * old one. Never modifies its input.
 */
import { isJsonObject, setMember, type JsonObject } from "../../meta/json.ts";

export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(target)) return withoutNulls(patch);
  if (!isJsonObject(patch)) return patch;
  const merged: JsonObject = { ...target };
  for (const key of Object.keys(patch)) {
    if (patch[key] === null) delete merged[key];
    else setMember(merged, key, applyMergePatch(Object.hasOwn(merged, key) ? merged[key] : undefined, patch[key]));
  }
  return merged;
}

/** Removes fields that are null from a new value, including those of objects in its lists. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const members: JsonObject = {};
  for (const key of Object.keys(value)) {
    if (value[key] !== null) setMember(members, key, withoutNulls(value[key]));
  }
  return members;
}

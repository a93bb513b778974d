/**
 * Approximates Kubernetes' Semantic.DeepEqual for JSON values, whose Go types are unknown: an empty list or map equals
 * an absent one.
 */
import { isJsonObject, ownMember, type JsonObject } from "./json.ts";

/** Fields that are maps in Go. Any other empty object is a pointer to a struct, which differs from an absent field. */
const MAPS: ReadonlySet<string> = new Set([
  "annotations",
  "labels",
  "limits",
  "matchLabels",
  "nodeSelector",
  "options",
  "overhead",
  "requests",
  "volumeAttributes",
]);

export function isSemanticallyEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, index) => isSemanticallyEqual(item, right[index]));
  if (!isJsonObject(left) || !isJsonObject(right)) return (left ?? null) === (right ?? null);
  for (const key of Object.keys(left)) if (!isMemberEqual(key, left, right)) return false;
  for (const key of Object.keys(right)) if (!Object.hasOwn(left, key) && !isMemberEqual(key, left, right)) return false;
  return true;
}

function isMemberEqual(key: string, left: JsonObject, right: JsonObject): boolean {
  return isSemanticallyEqual(present(left, key), present(right, key));
}

function present(parent: JsonObject, key: string): unknown {
  const value = ownMember(parent, key);
  if (Array.isArray(value)) return value.length === 0 ? undefined : value;
  return MAPS.has(key) && isJsonObject(value) && Object.keys(value).length === 0 ? undefined : value;
}

/** Whether an update touches only what the garbage collector needs for its work. */
import { isJsonObject, objectAt, type JsonObject } from "../../../meta/json.ts";

const OWNERSHIP: ReadonlySet<string> = new Set(["ownerReferences", "finalizers", "selfLink", "managedFields"]);

export function isSameButForOwnership(object: JsonObject, existing: JsonObject): boolean {
  return isSame(withoutOwnership(object), withoutOwnership(existing));
}

function withoutOwnership(object: JsonObject): JsonObject {
  const metadata = Object.entries(objectAt(object, "metadata")).filter(([key]) => !OWNERSHIP.has(key));
  return { ...object, metadata: Object.fromEntries(metadata) };
}

/** An empty list is the same as none; an empty text is not: a label may have it. */
function isSame(left: unknown, right: unknown): boolean {
  if (left === right || (isEmpty(left) && isEmpty(right))) return true;
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, index) => isSame(item, right[index]));
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  return (
    Object.keys(left).every((key) => isSame(left[key], ownMember(right, key))) &&
    Object.keys(right).every((key) => Object.hasOwn(left, key) || isEmpty(right[key]))
  );
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

function ownMember(parent: JsonObject, key: string): unknown {
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

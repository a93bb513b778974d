/**
 * Detects updates that change only the fields that the garbage collector writes. Such updates need no escalation check.
 */
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { isSemanticallyEqual } from "../../../meta/semantic-equality.ts";

const OWNERSHIP: ReadonlySet<string> = new Set(["ownerReferences", "finalizers", "selfLink", "managedFields"]);

export function isSameButForOwnership(object: JsonObject, existing: JsonObject): boolean {
  return isSemanticallyEqual(withoutOwnership(object), withoutOwnership(existing));
}

function withoutOwnership(object: JsonObject): JsonObject {
  const metadata = Object.entries(objectAt(object, "metadata")).filter(([key]) => !OWNERSHIP.has(key));
  return { ...object, metadata: Object.fromEntries(metadata) };
}

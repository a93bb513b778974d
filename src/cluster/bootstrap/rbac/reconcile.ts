/**
 * Updates the default roles and bindings after an upgrade: adds missing permissions and subjects, and keeps the
 * additions of users. A role or binding with the autoupdate annotation "false" is not changed.
 */
import { uncovered } from "../../../access/auth/rbac/escalation.ts";
import { policyRules, type PolicyRule } from "../../../access/auth/rbac/policy-rule.ts";
import { isJsonObject, jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";

export const AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate";

/** Returns a merge patch; undefined if nothing is missing. */
export function roleCorrection(expected: JsonObject, existing: JsonObject): JsonObject | undefined {
  if (isLeftAlone(existing)) return undefined;
  const missing = uncovered(policyRules(existing), policyRules(expected)).missing.map(ruleObject);
  return patchOf(expected, existing, {
    ...(missing.length === 0 ? {} : { rules: [...objectsAt(existing, "rules"), ...missing] }),
    ...aggregationCorrection(expected, existing),
  });
}

/** Returns a merge patch; undefined if nothing is missing, or if the binding must be replaced. */
export function bindingCorrection(expected: JsonObject, existing: JsonObject): JsonObject | undefined {
  if (isLeftAlone(existing) || isOfAnotherRole(expected, existing)) return undefined;
  const subjects = objectsAt(existing, "subjects");
  const missing = objectsAt(expected, "subjects").filter(
    (wanted) => !subjects.some((subject) => isSameIn(SUBJECT_MEMBERS, subject, wanted)),
  );
  return patchOf(expected, existing, missing.length === 0 ? {} : { subjects: [...subjects, ...missing] });
}

/** Whether the binding references another role. A roleRef is immutable, so the binding is deleted and created again. */
export function mustBeReplaced(expected: JsonObject, existing: JsonObject): boolean {
  return !isLeftAlone(existing) && isOfAnotherRole(expected, existing);
}

const SUBJECT_MEMBERS: readonly string[] = ["kind", "apiGroup", "namespace", "name"];
const ROLE_REF_MEMBERS: readonly string[] = ["kind", "apiGroup", "name"];

function isOfAnotherRole(expected: JsonObject, existing: JsonObject): boolean {
  return !isSameIn(ROLE_REF_MEMBERS, objectAt(existing, "roleRef"), objectAt(expected, "roleRef"));
}

function isSameIn(members: readonly string[], left: JsonObject, right: JsonObject): boolean {
  return members.every((member) => stringAt(left, member) === stringAt(right, member));
}

function isLeftAlone(existing: JsonObject): boolean {
  return objectAt(objectAt(existing, "metadata"), "annotations")[AUTO_UPDATE] === "false";
}

function patchOf(expected: JsonObject, existing: JsonObject, spec: JsonObject): JsonObject | undefined {
  const [wanted, present] = [objectAt(expected, "metadata"), objectAt(existing, "metadata")];
  const metadata = {
    ...missingMembers("annotations", wanted, present),
    ...missingMembers("labels", wanted, present),
  };
  if (Object.keys(metadata).length === 0 && Object.keys(spec).length === 0) return undefined;
  // A merge patch replaces whole lists, so it must apply only to the resourceVersion that was read.
  const { resourceVersion } = present;
  return { metadata: { ...metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) }, ...spec };
}

/** The labels or annotations that are absent. Existing values are kept, even if they differ. */
function missingMembers(key: string, wanted: JsonObject, present: JsonObject): JsonObject {
  const members = objectAt(present, key);
  const missing = Object.entries(objectAt(wanted, key)).filter(([name]) => !Object.hasOwn(members, name));
  return missing.length === 0 ? {} : { [key]: Object.fromEntries(missing) };
}

function aggregationCorrection(expected: JsonObject, existing: JsonObject): JsonObject {
  const wanted = objectsAt(objectAt(expected, "aggregationRule"), "clusterRoleSelectors");
  if (wanted.length === 0) return isJsonObject(existing["aggregationRule"]) ? { aggregationRule: null } : {};
  const present = objectsAt(objectAt(existing, "aggregationRule"), "clusterRoleSelectors");
  const missing = wanted.filter((selector) => !present.some((other) => jsonEquals(other, selector)));
  return missing.length === 0 ? {} : { aggregationRule: { clusterRoleSelectors: [...present, ...missing] } };
}

function ruleObject(rule: PolicyRule): JsonObject {
  return Object.fromEntries(
    Object.entries(rule).filter(([, values]: [string, readonly string[]]) => values.length > 0),
  );
}

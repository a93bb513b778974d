import { expect, test } from "vitest";
import type { Authorizer } from "../../auth/authorize.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { ownerReferencesPermissionEnforcement, type ResourcesOfKind } from "./owner-references.ts";
import { attributes, refusal } from "../../../../test/testing/access/admission/plugins/attributes.ts";

const resourcesOfKind: ResourcesOfKind = ({ group, version }, kind) =>
  kind === "ReplicaSet" && group === "apps" ? [{ group, version, resource: "replicasets", isNamespaced: true }] : [];

/** May do these: "verb group/resource/subresource namespace/name". */
function allowing(...known: readonly string[]): Authorizer {
  return (_, { verb, group, resource, subresource, namespace, name }) => ({
    allowed: known.includes(`${verb} ${group}/${resource}/${subresource} ${namespace}/${name}`),
    reason: "no",
  });
}

function object(...owners: readonly JsonObject[]): JsonObject {
  return { metadata: { name: "o", ownerReferences: owners } };
}

const PLAIN = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "u" };
const BLOCKING = { ...PLAIN, blockOwnerDeletion: true };
const DELETE = "delete /configmaps/ ns/o";
const FINALIZE = "update apps/replicasets/finalizers ns/r";
const start = '403 configmaps "o" is forbidden: cannot set';
const UNDELETABLE = `${start} an ownerRef on a resource you can't delete: no, <nil>`;
const UNFINALIZABLE = `${start} blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: no, <nil>`;

test.each([
  ["a new object may have owners", object(PLAIN), undefined, [], undefined],
  ["a new object may not hold its owner up", object(BLOCKING), undefined, [], UNFINALIZABLE],
  ["unless whoever makes it may", object(BLOCKING), undefined, [FINALIZE], undefined],
  ["or may do so to everything", object(BLOCKING), undefined, ["update */*/finalizers /*"], undefined],
  ["owners that stay are nobody's business", object(BLOCKING), object(BLOCKING), [], undefined],
  ["others are whoever's who may delete it", object(PLAIN), object(), [], UNDELETABLE],
  ["who may also take them away", object(), object(PLAIN), [DELETE], undefined],
  ["and may not let it hold up its owner", object(BLOCKING), object(PLAIN), [DELETE], UNFINALIZABLE],
  [
    "an owner of a kind nobody knows cannot be held up",
    object({ ...BLOCKING, kind: "X" }),
    undefined,
    [],
    `${start} blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion apps/v1 Kind X: no matches for kind "X" in version "apps/v1"`,
  ],
] as const)("%s", async (...[, wanted, existing, known, expected]) => {
  const plugin = ownerReferencesPermissionEnforcement({ authorizer: allowing(...known), resourcesOfKind });
  const operation = existing === undefined ? "CREATE" : "UPDATE";
  const given = attributes({ resource: "configmaps", operation, object: wanted, existing });
  expect(await refusal(() => plugin.validate?.(given))).toBe(expected);
});

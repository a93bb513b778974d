import { expect, test } from "vitest";
import type { Authorizer } from "../../auth/authorize.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { ownerReferencesPermissionEnforcement, type ResourcesOfKind } from "./owner-references.ts";
import { attributes, rejectionOf } from "../../../../test/testing/access/admission/plugins/attributes.ts";

const resourcesOfKind: ResourcesOfKind = ({ group, version }, kind) =>
  kind === "ReplicaSet" && group === "apps" ? [{ group, version, resource: "replicasets", isNamespaced: true }] : [];

/** An authorizer that allows only these accesses, each in the form "verb group/resource/subresource namespace/name". */
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
  ["a new object may have owners without any permission", object(PLAIN), undefined, [], undefined],
  [
    "a new object may not block the deletion of its owner without permission",
    object(BLOCKING),
    undefined,
    [],
    UNFINALIZABLE,
  ],
  [
    "a new object may block the deletion of an owner on which the user may set finalizers",
    object(BLOCKING),
    undefined,
    [FINALIZE],
    undefined,
  ],
  [
    "a new object may block the deletion of its owner if the user may set all finalizers",
    object(BLOCKING),
    undefined,
    ["update */*/finalizers /*"],
    undefined,
  ],
  ["an update that keeps the owners requires no permission", object(BLOCKING), object(BLOCKING), [], undefined],
  ["adding an owner requires permission to delete the object", object(PLAIN), object(), [], UNDELETABLE],
  ["removing an owner is allowed with permission to delete the object", object(), object(PLAIN), [DELETE], undefined],
  [
    "setting blockOwnerDeletion requires permission to set finalizers",
    object(BLOCKING),
    object(PLAIN),
    [DELETE],
    UNFINALIZABLE,
  ],
  [
    "blockOwnerDeletion on an owner of an unknown kind is rejected",
    object({ ...BLOCKING, kind: "X" }),
    undefined,
    [],
    `${start} blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion apps/v1 Kind X: no matches for kind "X" in version "apps/v1"`,
  ],
] as const)("%s", async (...[, wanted, existing, known, expected]) => {
  const plugin = ownerReferencesPermissionEnforcement({ authorizer: allowing(...known), resourcesOfKind });
  const operation = existing === undefined ? "CREATE" : "UPDATE";
  const given = attributes({ resource: "configmaps", operation, object: wanted, existing });
  expect(await rejectionOf(() => plugin.validate?.(given))).toBe(expected);
});

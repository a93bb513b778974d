import { expect, test } from "vitest";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { Serves } from "../served-version.ts";
import { bootstrapRoles } from "./bootstrap-roles.ts";

const MIGRATIONS = "storagemigration.k8s.io";

/** `migrations`: the version in which migrations are served. */
function servesAll(migrations?: string): Serves {
  return (group, resource, namespace = "") => {
    const version = group === MIGRATIONS ? migrations : "v1";
    if (version === undefined) return undefined;
    const collection = `/${namespace}/${resource}`;
    return { group, resource, namespace, version, apiVersion: `${group}/${version}`, collection };
  };
}

const serves = servesAll();

function placeOf(object: JsonObject): string {
  const metadata = objectAt(object, "metadata");
  return `${stringAt(metadata, "namespace")}/${stringAt(metadata, "name")}`;
}

function made(resource: string): JsonObject[] {
  return bootstrapRoles(serves)
    .filter(({ at }) => at.resource === resource)
    .map(({ object }) => object);
}

test("there are as many roles and bindings as in kubernetes, and one more ClusterRole, for reading /evenkeel/v1/*", () => {
  const counts = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"].map((name) => made(name).length);
  expect(counts).toEqual([69 + 1, 50, 7, 7]);
});

test.each([
  ["v1", ["list", "patch"]],
  ["v1beta1", ["create", "list", "patch"]],
])(
  "the storage version migrator has a role if its API is served, and with %s it may %j everything",
  (version, verbs) => {
    const name = "system:controller:storage-version-migrator-controller";
    const found = bootstrapRoles(servesAll(version)).filter(({ object }) => placeOf(object) === `/${name}`);
    expect(found.map(({ object }) => object["kind"])).toEqual(["ClusterRole", "ClusterRoleBinding"]);
    expect(objectsAt(found[0]!.object, "rules")[0]).toEqual({ verbs, apiGroups: ["*"], resources: ["*"] });
    expect(bootstrapRoles(serves).some(({ object }) => placeOf(object) === `/${name}`)).toBe(false);
  },
);

test("every binding references a role that is created too", () => {
  const roles = new Set([...made("clusterroles"), ...made("roles")].map(placeOf));
  for (const binding of [...made("clusterrolebindings"), ...made("rolebindings")]) {
    const [namespace] = placeOf(binding).split("/");
    expect(roles).toContain(`${namespace}/${stringAt(objectAt(binding, "roleRef"), "name")}`);
  }
});

test("each role and binding has the kind of the resource at which it is created, and its namespace", () => {
  const kinds = new Set(bootstrapRoles(serves).map(({ at, object }) => `${at.resource} ${String(object["kind"])}`));
  expect([...kinds].sort()).toEqual([
    "clusterrolebindings ClusterRoleBinding",
    "clusterroles ClusterRole",
    "rolebindings RoleBinding",
    "roles Role",
  ]);
  for (const { at, object } of bootstrapRoles(serves))
    expect(stringAt(objectAt(object, "metadata"), "namespace")).toBe(at.namespace);
});

test("a role or binding that was just created needs no correction", () => {
  for (const { object, correct, isToBeReplaced } of bootstrapRoles(serves)) {
    expect(correct?.(object)).toBeUndefined();
    expect(isToBeReplaced?.(object) ?? false).toBe(false);
  }
});

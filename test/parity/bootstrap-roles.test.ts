/**
 * Compares the roles and bindings of a new cluster with those that kube-apiserver 1.36 creates, if the recorded facts
 * are beside the repository.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { objectAt, stringAt, type JsonObject } from "../../src/meta/json.ts";
import { bootstrapRoles } from "../../src/cluster/bootstrap/rbac/bootstrap-roles.ts";
import { EVENKEEL_ROLES } from "../../src/cluster/bootstrap/rbac/evenkeel-roles.ts";
import type { Serves } from "../../src/cluster/bootstrap/served-version.ts";

/** The objects that kube-apiserver 1.36 creates in an empty store. */
const FACTS = join(import.meta.dirname, "../../../shared/facts/bootstrap-objects.json");

/** Version v1 of every group but the one that kube-apiserver 1.36 does not serve by default. */
const serves: Serves = (group, resource, namespace = "") => {
  if (group === "storagemigration.k8s.io") return undefined;
  const collection = `/${namespace}/${resource}`;
  return { group, resource, namespace, version: "v1", apiVersion: `${group}/v1`, collection };
};

function placeOf(object: JsonObject): string {
  const metadata = objectAt(object, "metadata");
  return `${stringAt(metadata, "namespace")}/${stringAt(metadata, "name")}`;
}

function byPlace(objects: readonly JsonObject[]): JsonObject {
  return Object.fromEntries(objects.map((object) => [placeOf(object), object]));
}

test.skipIf(!existsSync(FACTS)).each(["clusterroles", "clusterrolebindings", "roles", "rolebindings"])(
  "the bootstrapped %s equal those of kube-apiserver",
  (resource) => {
    const facts = JSON.parse(readFileSync(FACTS, "utf8")) as Record<string, JsonObject[]>;
    const ours = bootstrapRoles(serves)
      .filter(({ at }) => at.resource === resource)
      .map(({ object: { apiVersion: _apiVersion, kind: _kind, ...rest } }) => rest)
      .filter((object) => !Object.hasOwn(EVENKEEL_ROLES, placeOf(object).slice(1)));
    expect(byPlace(ours)).toEqual(byPlace(facts[resource]!));
  },
);

import { describe, expect, test } from "vitest";
import { fullObject } from "../../../test/testing/objects/conversion/full-object.ts";
import { hollowObject } from "../../../test/testing/objects/conversion/hollow-object.ts";
import { DEFINITION_KINDS } from "../../extensions/crd/validation/crd-kind.ts";
import { isJsonObject, objectAt, setMember, type JsonObject } from "../../meta/json.ts";
import { formatGroupVersion, type GroupVersion } from "../../meta/group-version.ts";
import { openCatalog } from "../../objects/catalog/catalog.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { parseRuntimeConfig } from "../../objects/catalog/runtime-config.ts";
import { createKinds } from "../../objects/kinds/kinds.ts";
import type { StructSchema } from "../../objects/schema.ts";
import type { AddDefaults } from "../../storage/watch-cache/entry.ts";
import { storedDefaults } from "./stored-defaults.ts";

interface StoredKind extends GroupVersion {
  readonly kind: string;
  readonly key: string;
  readonly schema: StructSchema;
}

function opened(release: ReleaseName): { addDefaults: AddDefaults; kinds: readonly StoredKind[] } {
  const catalog = openCatalog({ release, runtimeConfig: parseRuntimeConfig("api/all=true") });
  const kinds = catalog.groups
    .flatMap(({ resources }) => resources)
    .flatMap(({ group, storagePrefix, versions }) =>
      versions.flatMap(({ version, kind }) => {
        const schema = catalog.schemas.kind(group, version, kind);
        return storagePrefix === undefined || schema === undefined
          ? []
          : [{ group, version, kind, schema, key: `/registry/${storagePrefix}/default/a` }];
      }),
    );
  const kindOf = createKinds(DEFINITION_KINDS);
  const clock = { now: () => 0 };
  return {
    addDefaults: storedDefaults({ catalog, storageRoot: "/registry/", kindOf, ipFamilies: ["IPv4"], clock }),
    kinds,
  };
}

function complete(addDefaults: AddDefaults, key: string, object: JsonObject): JsonObject {
  const text = JSON.stringify(object);
  return addDefaults(key, JSON.parse(text) as JsonObject, text).object;
}

/** Adds a field that no release has to every object. */
function withFuture(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withFuture);
  if (!isJsonObject(value)) return value;
  const object: JsonObject = {};
  for (const [name, inner] of Object.entries(value)) setMember(object, name, withFuture(inner));
  return { ...object, inTheFuture: "kept" };
}

/** The paths of all fields and items that `after` lacks. */
function lost(before: unknown, after: unknown, at = ""): string[] {
  if (after === undefined) return [at];
  if (typeof before !== "object" || before === null) return [];
  return Object.entries(before).flatMap(([name, inner]) =>
    lost(
      inner,
      isJsonObject(after) || Array.isArray(after)
        ? Object.entries(after).find(([key]) => key === name)?.[1]
        : undefined,
      `${at}/${name}`,
    ),
  );
}

describe.each(["1.28", "1.33", "1.37"] as const)("the defaults of stored objects in %s", (release) => {
  const { addDefaults, kinds } = opened(release);

  test("remove no field and no item, known or unknown, except other values of an address and write-only fields", () => {
    expect(kinds.length).toBeGreaterThan(50);
    const removed = kinds.flatMap(({ schema, key, ...gvk }) => {
      const object = withFuture(fullObject(schema, gvk)) as JsonObject;
      const stored = { ...object, kind: gvk.kind, apiVersion: formatGroupVersion(gvk) };
      return lost(stored, complete(addDefaults, key, stored)).map((path) => `${gvk.kind}${path}`);
    });
    expect(removed).toEqual([
      ...["Node/spec/podCIDRs/1", "Pod/status/podIPs/0/inTheFuture", "Pod/status/podIPs/1"],
      "Secret/stringData",
    ]);
  });

  test("add nothing to an object that has them", () => {
    for (const { schema, key, ...gvk } of kinds) {
      const once = complete(addDefaults, key, hollowObject(schema, gvk));
      const text = JSON.stringify(once);
      expect(addDefaults(key, JSON.parse(text) as JsonObject, text)).toMatchObject({ lacksDefaults: false });
    }
  });
});

describe("an object", () => {
  const { addDefaults } = opened("1.36");
  const secret = { kind: "Secret", apiVersion: "v1", metadata: { name: "s" } };
  const lacks = (key: string, object: JsonObject): boolean =>
    addDefaults(key, object, JSON.stringify(object)).lacksDefaults;

  test("gets the defaults of its kind under the key prefix of its resource only", () => {
    expect(lacks("/registry/secrets/default/s", secret)).toBe(true);
    expect(lacks("/registry/configmaps/default/s", { ...secret })).toBe(false);
    expect(lacks("/registry/secrets.example.com/secrets/default/s", { ...secret })).toBe(false);
    expect(lacks("/registry/secrets", { ...secret })).toBe(false);
  });

  test("gets no defaults in a version that the release cannot decode", () => {
    expect(lacks("/registry/secrets/default/s", { ...secret, apiVersion: "v9" })).toBe(false);
  });

  test("in another order of fields is complete, and keeps its order", () => {
    const type = { kind: "Role", apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "r" } };
    const object: JsonObject = { rules: [{ resources: ["pods"], apiGroups: [""], verbs: ["get"] }], ...type };
    const result = addDefaults("/registry/roles/default/r", structuredClone(object), JSON.stringify(object));
    expect(result.lacksDefaults).toBe(false);
    expect(JSON.stringify(result.object)).toBe(JSON.stringify(object));
  });

  test("whose fields have other types than its kind gets no defaults", () => {
    const slice = { kind: "EndpointSlice", apiVersion: "discovery.k8s.io/v1", metadata: 7, endpoints: { a: 1 } };
    const deep = `{"kind":"Secret","apiVersion":"v1","metadata":{},"x":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
    expect(addDefaults("/registry/endpointslices/default/s", slice, JSON.stringify(slice)).object["metadata"]).toBe(7);
    expect(addDefaults("/registry/secrets/default/s", JSON.parse(deep) as JsonObject, deep).lacksDefaults).toBe(false);
    expect(objectAt(slice, "spec")).toEqual({});
  });
});

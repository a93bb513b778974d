/**
 * Tests of custom resources after a change of their storage version: all objects are rewritten in the new version, and
 * then the old version is removed from status.storedVersions of the CRD.
 */
import { afterEach, describe, expect, test } from "vitest";
import { startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION = `${DEFINITIONS}/shapes.example.com`;
const MIGRATIONS = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations";
const STATE = "/api/v1/namespaces/kube-system/configmaps/evenkeel-storage-state";
const of = (version: string, name = ""): string => `/apis/example.com/${version}/shapes${name && `/${name}`}`;
const FOREVER_MS = 120_000;

let api: TestServer;

afterEach(() => api[Symbol.asyncDispose]());

async function start(controllers: readonly string[]): Promise<void> {
  api = await startServer({
    strictRelease: false,
    runtimeConfig: ["storagemigration.k8s.io/v1beta1=true"],
    featureGates: ["StorageVersionMigrator=true"],
    controllers,
  });
  await api.world.advance(30_000);
}

function versions(storage: string): Json[] {
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: {} } } } };
  return ["v1", "v2"].map((name) => ({ name, served: true, storage: name === storage, schema }));
}

async function define(): Promise<void> {
  const names = { plural: "shapes", kind: "Shape" };
  const made = await api.create(DEFINITIONS, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "shapes.example.com" },
    spec: { group: "example.com", scope: "Cluster", names, versions: versions("v1") },
  });
  expect(made.status, made.text).toBe(201);
  await api.world.advance(5_000);
}

async function make(name: string, version = "v1"): Promise<ApiTestResponse> {
  const body = { apiVersion: `example.com/${version}`, kind: "Shape", metadata: { name } };
  const made = await api.create(of(version), body);
  expect(made.status, made.text).toBe(201);
  return made;
}

async function flip(storage: string): Promise<void> {
  const flipped = await api.mergePatch(DEFINITION, { spec: { versions: versions(storage) } });
  expect(flipped.status, flipped.text).toBe(200);
}

async function migrate(name = "m"): Promise<void> {
  const made = await api.create(MIGRATIONS, {
    apiVersion: "storagemigration.k8s.io/v1beta1",
    kind: "StorageVersionMigration",
    metadata: { name },
    spec: { resource: { group: "example.com", resource: "shapes" } },
  });
  expect(made.status, made.text).toBe(201);
}

async function stored(): Promise<Record<string, string>> {
  const prefix = "/registry/example.com/shapes/";
  const { items } = await api.world.run(api.kv.range({ start: prefix, end: "/registry/example.com/shapes0" }));
  return Object.fromEntries(
    items.map(({ key, value }) => [key.slice(prefix.length), JSON.parse(value.toString()).apiVersion]),
  );
}

async function storedVersions(): Promise<Json> {
  return (await api.get(DEFINITION)).body.status.storedVersions;
}

async function migrating(): Promise<Json> {
  const { status } = (await api.get(DEFINITION)).body;
  return status.conditions.find(({ type }: Json) => type === "StorageMigrating");
}

async function conditions(name = "m"): Promise<string[]> {
  const { status } = (await api.get(`${MIGRATIONS}/${name}`)).body;
  return (status.conditions ?? []).map(({ type, status: value }: Json) => `${type}=${value}`);
}

describe("the automatic migration", () => {
  test("rewrites every object after a change of the storage version, and then removes the old version from the stored versions of the CRD", async () => {
    await start(["storage-version-migrator", "storage-version-garbage-collector"]);
    await define();
    const before = (await make("a")).body.metadata;
    await make("b");
    await flip("v2");
    expect(await storedVersions()).toEqual(["v1", "v2"]);
    await api.world.advance(FOREVER_MS);
    expect(await stored()).toEqual({ a: "example.com/v2", b: "example.com/v2" });
    expect(await storedVersions()).toEqual(["v2"]);
    const after = (await api.get(of("v1", "a"))).body.metadata;
    expect([after.uid, after.generation]).toEqual([before.uid, before.generation]);
    expect(await migrating()).toBeUndefined();
    const state = async (): Promise<Json> => (await api.get(STATE)).body.data["example.com.shapes"];
    expect(await state()).toContain('"persistedVersions":["example.com/v2"]');
    await api.delete(DEFINITION);
    await api.world.advance(FOREVER_MS);
    expect(await state()).toBeUndefined();
  });

  test("keeps both stored versions for a while if the storage version has changed back and forth, and then removes the old one", async () => {
    await start(["storage-version-migrator"]);
    await define();
    await make("a");
    await flip("v2");
    await flip("v1");
    await api.world.advance(4_000);
    await flip("v2");
    await api.world.advance(4_000);
    expect(await storedVersions()).toEqual(["v1", "v2"]);
    await api.world.advance(FOREVER_MS);
    expect(await storedVersions()).toEqual(["v2"]);
    expect(await stored()).toEqual({ a: "example.com/v2" });
  });

  test("makes it possible to remove the old version from the CRD", async () => {
    await start(["storage-version-migrator"]);
    await define();
    await make("a");
    await flip("v2");
    const early = await api.mergePatch(DEFINITION, { spec: { versions: [versions("v2")[1]] } });
    expect(early.status).toBe(422);
    await api.world.advance(FOREVER_MS);
    const late = await api.mergePatch(DEFINITION, { spec: { versions: [versions("v2")[1]] } });
    expect(late.status, late.text).toBe(200);
    await api.world.advance(5_000);
    expect((await api.get(of("v2", "a"))).status).toBe(200);
  });

  test("keeps both stored versions while an object cannot be decoded, until the object is repaired", async () => {
    await start(["storage-version-migrator"]);
    await define();
    await make("bad");
    await make("good");
    const key = "/registry/example.com/shapes/bad";
    const change = async (value: string): Promise<void> => {
      const { items } = await api.world.run(api.kv.range({ start: key, end: `${key}0` }));
      const { modRevision: expectedRevision } = items[0]!;
      await api.world.run(api.kv.commit({ kind: "put", key, value: Buffer.from(value), expectedRevision }));
    };
    await change('{"kind":"Shape","apiVersion":"example.com/v0","metadata":{"name":"bad"}}');
    await flip("v2");
    await api.world.advance(FOREVER_MS);
    expect(await storedVersions()).toEqual(["v1", "v2"]);
    await change('{"kind":"Shape","apiVersion":"example.com/v1","metadata":{"name":"bad","uid":"u"}}');
    await api.world.advance(10 * FOREVER_MS);
    expect(await stored()).toEqual({ bad: "example.com/v2", good: "example.com/v2" });
    expect(await storedVersions()).toEqual(["v2"]);
  });
});

describe("a requested migration", () => {
  test("rewrites every object and removes the old version from the stored versions of the CRD", async () => {
    await start(["storage-version-migrator-controller"]);
    await define();
    await make("a");
    await flip("v2");
    await api.world.advance(30_000);
    expect(await stored()).toEqual({ a: "example.com/v1" });
    expect(await storedVersions()).toEqual(["v1", "v2"]);
    await migrate();
    await api.world.advance(FOREVER_MS);
    expect(await conditions()).toEqual(["Running=False", "Succeeded=True"]);
    expect(await stored()).toEqual({ a: "example.com/v2" });
    expect(await storedVersions()).toEqual(["v2"]);
    const { generation } = (await api.get(DEFINITION)).body.metadata;
    expect(await migrating()).toMatchObject({
      status: "False",
      reason: "MigrationSucceeded",
      message: "The migration has succeeded and the stored versions have been updated",
      observedGeneration: generation,
    });
  });

  test("without a change of the storage version does not change the stored versions", async () => {
    await start(["storage-version-migrator-controller"]);
    await define();
    await make("a");
    await migrate();
    await api.world.advance(FOREVER_MS);
    expect(await conditions()).toEqual(["Running=False", "Succeeded=True"]);
    expect(await storedVersions()).toEqual(["v1"]);
  });

  test("can be followed by a second migration after the next change of the storage version", async () => {
    await start(["storage-version-migrator-controller"]);
    await define();
    await make("a");
    for (const [name, version] of [
      ["first", "v2"],
      ["second", "v1"],
    ] as const) {
      await flip(version);
      await migrate(name);
      await api.world.advance(FOREVER_MS);
      expect(await conditions(name)).toEqual(["Running=False", "Succeeded=True"]);
      expect(await stored()).toEqual({ a: `example.com/${version}` });
      expect(await storedVersions()).toEqual([version]);
    }
  });
});

test("without a migration controller, no version is removed from the stored versions of the CRD", async () => {
  await start([]);
  await define();
  await make("a");
  await flip("v2");
  await api.world.advance(FOREVER_MS);
  await make("b", "v2");
  expect(await stored()).toEqual({ a: "example.com/v1", b: "example.com/v2" });
  expect(await storedVersions()).toEqual(["v1", "v2"]);
});

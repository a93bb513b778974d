/**
 * Tests of StorageVersionMigrations in 1.37, which serves v1 by default: with the controller that runs in the server,
 * and in clusters with servers of earlier releases.
 */
import { afterEach, describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import { startServer, type Json, type StartOptions, type TestServer } from "./start.ts";

const GROUP = "storagemigration.k8s.io";
const NAME = `${GROUP}.storageversionmigrations`;
const STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SHAPES = "/apis/example.com/v1/shapes";
const KEY = "/registry/storageversionmigrations/";
/** Long enough for a migration, and for the wait before a CRD is updated. */
const MIGRATED_MS = 120_000;

const servers: TestServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
});

async function start(options: StartOptions): Promise<TestServer> {
  const server = await startServer({ strictRelease: false, ...options });
  servers.push(server);
  return server;
}

/** A server that serves the API in a version that its release does not serve by default. */
function startWith(version: string, options: StartOptions): Promise<TestServer> {
  return start({
    runtimeConfig: [`${GROUP}/${version}=true`],
    featureGates: ["StorageVersionMigrator=true"],
    ...options,
  });
}

function path(version: string): string {
  return `/apis/${GROUP}/${version}/storageversionmigrations`;
}

function migration(version: string, name: string, group: string, resource: string): Json {
  const more = version === "v1alpha1" ? { version: "v1" } : {};
  const spec = { resource: { group, resource, ...more } };
  return { apiVersion: `${GROUP}/${version}`, kind: "StorageVersionMigration", metadata: { name }, spec };
}

async function storedVersion({ world, kv }: TestServer, key: string): Promise<string> {
  const { items } = await world.run(kv.range({ start: key }));
  return JSON.parse(String(items[0]?.value)).apiVersion;
}

async function published(server: TestServer): Promise<Json> {
  const { storageVersions, commonEncodingVersion } = (await server.get(`${STORAGE_VERSIONS}/${NAME}`)).body.status;
  return { common: commonEncodingVersion, encodings: storageVersions.map((entry: Json) => entry.encodingVersion) };
}

/** The conditions, each as its type, status, reason and message. */
async function conditions(server: TestServer, name: string): Promise<string[]> {
  const { status } = (await server.get(`${path("v1")}/${name}`)).body;
  return (status.conditions ?? []).map((one: Json) => `${one.type}=${one.status} ${one.reason}: ${one.message}`);
}

const ENDED = [
  "Running=False MigrationCompleted: Migration completed",
  "Succeeded=True StorageVersionMigrationSucceeded: Migration completed",
];

describe("a server of 1.37 without flags", () => {
  test("serves migrations in v1 only, without a deprecation warning, and stores them in v1beta1", async () => {
    const server = await start({ release: "1.37", controllers: [] });
    const { body } = await server.get(`/apis/${GROUP}`);
    expect(body.versions.map(({ version }: Json) => version)).toEqual(["v1"]);
    const created = await server.create(path("v1"), migration("v1", "m", "apps", "deployments"));
    expect([created.status, created.headers["warning"]]).toEqual([201, undefined]);
    expect(created.body).toMatchObject({ apiVersion: `${GROUP}/v1`, status: {} });
    expect(await storedVersion(server, `${KEY}m`)).toBe(`${GROUP}/v1beta1`);
    expect(await published(server)).toEqual({ common: `${GROUP}/v1beta1`, encodings: [`${GROUP}/v1beta1`] });
    expect((await server.get(path("v1beta1"))).status).toBe(404);
  });

  test("carries out a migration, which writes each outdated object once", async () => {
    const server = await start({ release: "1.37", controllers: ["storage-version-migrator-controller"] });
    const claims = "/apis/resource.k8s.io/v1/deviceclasses";
    const old = { kind: "DeviceClass", apiVersion: "resource.k8s.io/v1beta2", metadata: { name: "old", uid: "u" } };
    const key = "/registry/deviceclasses/old";
    const value = Buffer.from(JSON.stringify({ ...old, spec: {} }));
    await server.world.run(server.kv.commit({ kind: "put", key, value, expectedRevision: 0 }));
    await server.world.advance(1_000);
    const versions: string[] = [];
    for (const name of ["first", "second"]) {
      versions.push((await server.get(`${claims}/old`)).body.metadata.resourceVersion);
      await server.create(path("v1"), migration("v1", name, "resource.k8s.io", "deviceclasses"));
      await server.world.advance(MIGRATED_MS);
      expect(await conditions(server, name)).toEqual(ENDED);
      expect(await storedVersion(server, key)).toBe("resource.k8s.io/v1");
    }
    expect(versions[0]).not.toBe(versions[1]);
    expect((await server.get(`${claims}/old`)).body.metadata.resourceVersion).toBe(versions[1]);
  });

  test("carries out a migration of custom resources, and then removes the old version from their CRD", async () => {
    const server = await start({ release: "1.37", controllers: ["storage-version-migrator-controller"] });
    const versions = (storage: string): Json[] =>
      ["v1", "v2"].map((name) => ({
        ...{ name, served: true, storage: name === storage },
        schema: { openAPIV3Schema: { type: "object" } },
      }));
    const names = { plural: "shapes", kind: "Shape" };
    await server.create(DEFINITIONS, {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "shapes.example.com" },
      spec: { group: "example.com", scope: "Cluster", names, versions: versions("v1") },
    });
    await server.world.advance(5_000);
    for (const name of ["a", "b"])
      await server.create(SHAPES, { apiVersion: "example.com/v1", kind: "Shape", metadata: { name } });
    await server.mergePatch(`${DEFINITIONS}/shapes.example.com`, { spec: { versions: versions("v2") } });
    await server.world.advance(30_000);
    expect(await storedVersion(server, "/registry/example.com/shapes/a")).toBe("example.com/v1");
    await server.create(path("v1"), migration("v1", "shapes", "example.com", "shapes"));
    await server.world.advance(MIGRATED_MS);
    expect(await conditions(server, "shapes")).toEqual(ENDED);
    for (const name of ["a", "b"])
      expect(await storedVersion(server, `/registry/example.com/shapes/${name}`)).toBe("example.com/v2");
    const { status } = (await server.get(`${DEFINITIONS}/shapes.example.com`)).body;
    expect(status.storedVersions).toEqual(["v2"]);
  });
});

describe("migrations of a cluster of servers of 1.37 and", () => {
  test("1.36 are stored in v1beta1 by both, and both serve them", async () => {
    const world = new World({ seed: 3 });
    const older = await startWith("v1beta1", { world, release: "1.36", controllers: [] });
    const newer = await start({ world, release: "1.37", controllers: [] });
    await world.advance(5_000);
    expect(await published(newer)).toEqual({
      common: `${GROUP}/v1beta1`,
      encodings: [`${GROUP}/v1beta1`, `${GROUP}/v1beta1`],
    });
    await newer.create(path("v1"), migration("v1", "new", "apps", "deployments"));
    await older.create(path("v1beta1"), migration("v1beta1", "old", "apps", "deployments"));
    for (const name of ["new", "old"]) {
      expect(await storedVersion(newer, `${KEY}${name}`)).toBe(`${GROUP}/v1beta1`);
      expect((await older.get(`${path("v1beta1")}/${name}`)).body.apiVersion).toBe(`${GROUP}/v1beta1`);
      expect((await newer.get(`${path("v1")}/${name}`)).body.apiVersion).toBe(`${GROUP}/v1`);
    }
  });

  test("1.33 are stored in v1beta1 if 1.33 does not serve their API", async () => {
    const world = new World({ seed: 4 });
    await start({ world, release: "1.33", controllers: [] });
    const newer = await start({ world, release: "1.37", controllers: [] });
    await world.advance(5_000);
    expect(await published(newer)).toEqual({ common: `${GROUP}/v1beta1`, encodings: [`${GROUP}/v1beta1`] });
    expect((await newer.create(path("v1"), migration("v1", "m", "apps", "deployments"))).status).toBe(201);
    expect(await storedVersion(newer, `${KEY}m`)).toBe(`${GROUP}/v1beta1`);
  });

  test("1.33 with v1alpha1 cannot be written while both are live, because there is no version that both can read", async () => {
    const world = new World({ seed: 5 });
    const older = await startWith("v1alpha1", { world, release: "1.33", controllers: [] });
    const alpha = migration("v1alpha1", "m", "apps", "deployments");
    expect((await older.create(path("v1alpha1"), alpha)).status).toBe(201);
    await older.delete(`${path("v1alpha1")}/m`);
    const newer = await start({ world, release: "1.37", controllers: ["storage-version-garbage-collector"] });
    await world.advance(5_000);
    expect((await published(newer)).common).toBeUndefined();
    const rejected = await newer.call("POST", path("v1"), migration("v1", "m", "apps", "deployments"));
    expect(rejected).toMatchObject({ status: 503, headers: { "retry-after": expect.any(String) } });
    expect(rejected.body.message).toContain("cannot be written now");
    await older[Symbol.asyncDispose]();
    servers.splice(servers.indexOf(older), 1);
    await world.advance(30_000);
    const made = await newer.call("POST", path("v1"), migration("v1", "m", "apps", "deployments"));
    expect(made.status, made.text).toBe(201);
    expect(await published(newer)).toEqual({ common: `${GROUP}/v1beta1`, encodings: [`${GROUP}/v1beta1`] });
  });
});

/**
 * Tests of the StorageVersion objects of custom resources: every server publishes its entry before it writes objects of
 * the resource.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { startServer, type Json, type TestServer } from "./start.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";
const SCHEMA = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };

let server: TestServer;

beforeEach(async () => {
  server = await startServer({ strictRelease: false });
});

afterEach(() => server[Symbol.asyncDispose]());

function versions(names: readonly string[], storage: string): Json[] {
  return names.map((name) => ({ name, served: true, storage: name === storage, schema: SCHEMA }));
}

async function define(plural: string, names: readonly string[] = ["v1"], storage = "v1"): Promise<Json> {
  const { status, body } = await server.create(DEFINITIONS, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural, kind: plural.toUpperCase() },
      versions: versions(names, storage),
    },
  });
  expect(status).toBe(201);
  await server.world.advance(1_000);
  return body;
}

function change(plural: string, names: readonly string[], storage: string): Promise<Json> {
  return server.mergePatch(`${DEFINITIONS}/${plural}.example.com`, { spec: { versions: versions(names, storage) } });
}

async function published(plural: string): Promise<Json> {
  return (await server.get(`${STORAGE_VERSIONS}/example.com.${plural}`)).body;
}

async function create(plural: string, name: string, version = "v1"): Promise<number> {
  const body = { apiVersion: `example.com/${version}`, kind: plural.toUpperCase(), metadata: { name } };
  return (await server.create(`/apis/example.com/${version}/${plural}`, body)).status;
}

test("a CRD has a StorageVersion object, which the CRD owns", async () => {
  const { metadata } = await define("things");
  const object = await published("things");
  const owner = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
  expect(object.metadata.ownerReferences).toEqual([{ ...owner, name: "things.example.com", uid: metadata.uid }]);
  expect(object.status.storageVersions).toEqual([
    {
      apiServerID: expect.stringMatching(/^apiserver-/),
      encodingVersion: "example.com/v1",
      decodableVersions: ["example.com/v1"],
      servedVersions: ["example.com/v1"],
    },
  ]);
  expect(object.status.commonEncodingVersion).toBe("example.com/v1");
});

test("a changed storage version is published and used for all later writes", async () => {
  await define("things");
  expect(await create("things", "before")).toBe(201);
  await change("things", ["v1", "v2"], "v2");
  await server.world.advance(1_000);
  const { status } = await published("things");
  expect(status.storageVersions[0]).toMatchObject({
    encodingVersion: "example.com/v2",
    decodableVersions: ["example.com/v1", "example.com/v2"],
  });
  expect(await create("things", "after")).toBe(201);
  const stored = await server.world.run(server.world.openKv().range({ start: "/registry/example.com/things/after" }));
  expect(JSON.parse(stored.items[0]!.value.toString("utf8")).apiVersion).toBe("example.com/v2");
});

test("an unserved version is published as decodable but not as served", async () => {
  await define("things", ["v1", "v2"], "v2");
  const all = versions(["v1", "v2"], "v2").map((version) => ({ ...version, served: version.name === "v2" }));
  await server.mergePatch(`${DEFINITIONS}/things.example.com`, { spec: { versions: all } });
  await server.world.advance(1_000);
  expect((await published("things")).status.storageVersions[0]).toMatchObject({
    decodableVersions: ["example.com/v1", "example.com/v2"],
    servedVersions: ["example.com/v2"],
  });
});

test("ten changes of one CRD neither delay the StorageVersion of another CRD nor end a watch of CRDs", async () => {
  const watch = await server.watch(`${DEFINITIONS}?watch=true`);
  await define("things");
  for (let number = 2; number <= 11; number++) {
    const names = Array.from({ length: number }, (_, index) => `v${index + 1}`);
    await change("things", names, `v${number}`);
    expect(await create("things", `object-${number}`)).toBe(201);
    if (number === 6) {
      await define("others");
      expect(await create("others", "one")).toBe(201);
    }
  }
  await server.world.advance(2_000);
  const [entry] = (await published("things")).status.storageVersions;
  expect(entry.encodingVersion).toBe("example.com/v11");
  expect(entry.decodableVersions).toHaveLength(11);
  expect((await published("others")).status.commonEncodingVersion).toBe("example.com/v1");
  expect(watch.isEnded).toBe(false);
});

test("a version in which no object is stored can be removed from the CRD, and it disappears from the StorageVersion", async () => {
  await define("things", ["v1", "v2"], "v2");
  await change("things", ["v2"], "v2");
  await server.world.advance(1_000);
  expect((await published("things")).status.storageVersions[0].decodableVersions).toEqual(["example.com/v2"]);
  expect(await create("things", "one", "v2")).toBe(201);
});

test("a CRD that is deleted and created again has a StorageVersion without the versions of the deleted CRD", async () => {
  await define("things", ["v1", "v2"], "v2");
  expect(await create("things", "old", "v2")).toBe(201);
  await server.call("DELETE", `${DEFINITIONS}/things.example.com`);
  await server.world.advance(30_000);
  expect((await server.get(`${DEFINITIONS}/things.example.com`)).status).toBe(404);
  await define("things", ["v1"], "v1");
  expect((await published("things")).status.storageVersions[0].decodableVersions).toEqual(["example.com/v1"]);
  expect(await create("things", "old")).toBe(201);
});

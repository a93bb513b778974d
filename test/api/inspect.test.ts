import { describe, expect, test } from "vitest";
import { protobufTables } from "../../src/objects/catalog/protobuf-tables.ts";
import { encodeProtobufObject } from "../testing/objects/protobuf/encode.ts";
import { CONFIG_MAPS, configMap, startServer, type ApiTestResponse, type Json } from "./start.ts";

const VERSIONS = "/evenkeel/v1/stored-versions";
const ROLLBACK = "/evenkeel/v1/rollback-check";
const DEVICE_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses";

function deviceClass(name: string): Json {
  return { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name }, spec: {} };
}

function report({ status, text }: ApiTestResponse): Json {
  expect(status).toBe(200);
  const last: Json = JSON.parse(text.trimEnd().split("\n").at(-1)!);
  expect(last.kind).toBe("result");
  return last.report;
}

describe("the stored versions of a server's store", () => {
  test("include the version that the server writes and versions that other servers wrote", async () => {
    await using api = await startServer({ release: "1.36" });
    await api.create(CONFIG_MAPS, configMap("a"));
    await api.create(DEVICE_CLASSES, deviceClass("gpu"));
    const older = { ...deviceClass("old"), apiVersion: "resource.k8s.io/v1beta1" };
    const value = encodeProtobufObject(older, protobufTables());
    await api.kv.commit({ kind: "put", key: "/registry/deviceclasses/old", value, expectedRevision: 0 });
    const { resources, unknown, release } = report(await api.get(VERSIONS));
    expect(release).toBe("1.36");
    expect(resources).toContainEqual({
      group: "resource.k8s.io",
      resource: "deviceclasses",
      writes: "resource.k8s.io/v1",
      versions: [
        { apiVersion: "resource.k8s.io/v1", objects: 1 },
        { apiVersion: "resource.k8s.io/v1beta1", objects: 1 },
      ],
      unreadable: 0,
    });
    expect(resources).toContainEqual(expect.objectContaining({ resource: "configmaps", writes: "v1" }));
    expect(unknown).toEqual([]);
  });

  test.each(["1.28", "1.31", "1.33", "1.36", "1.37"])(
    "are only the versions that %s writes if no other release has written, and a rollback check to this release finds no problem",
    async (release) => {
      await using api = await startServer({ release });
      for (const { versions, writes, unreadable } of report(await api.get(VERSIONS)).resources) {
        expect(versions.map(({ apiVersion }: Json) => apiVersion)).toEqual([writes]);
        expect(unreadable).toBe(0);
      }
      const { objects, findings, broken } = report(await api.get(`${ROLLBACK}?to=${release}`));
      expect({ findings, broken }).toEqual({ findings: [], broken: [] });
      expect(objects).toBeGreaterThan(5);
    },
  );
});

describe("a rollback check", () => {
  test("lists the objects that the older release cannot decode", async () => {
    await using api = await startServer({ release: "1.36" });
    await api.create(DEVICE_CLASSES, deviceClass("gpu"));
    const { findings } = report(await api.get(`${ROLLBACK}?to=1.33`));
    expect(findings).toMatchObject([{ problem: "unreadable", resource: "deviceclasses", names: [{ name: "gpu" }] }]);
    expect(report(await api.get(`${ROLLBACK}?to=1.34`)).findings).toEqual([]);
  });
});

test("the reports are served only to authorized users and only for GET", async () => {
  await using api = await startServer({ access: {}, tokenFile: "secret,ann,ann,system:masters\nother,jane,jane" });
  const asJane = { asClient: true, headers: { authorization: "Bearer other" } };
  const headers = { authorization: "Bearer secret" };
  for (const path of [VERSIONS, `${ROLLBACK}?to=1.33`]) {
    expect((await api.call("GET", path, undefined, { asClient: true })).status).toBe(403);
    expect((await api.call("GET", path, undefined, asJane)).status).toBe(403);
    expect((await api.call("GET", path, undefined, { asClient: true, headers })).status).toBe(200);
    expect((await api.call("POST", path, {}, { asClient: true, headers })).status).toBe(405);
  }
  expect((await api.get(`${VERSIONS}/x`)).status).toBe(404);
  expect((await api.get("/")).body.paths).toEqual(expect.arrayContaining([VERSIONS, ROLLBACK]));
});

/** Tests of CRDs that an earlier kube-apiserver has stored as apiextensions.k8s.io/v1beta1. */
import { expect, test } from "vitest";
import { startServer } from "../start.ts";

test("a CRD that is stored as v1beta1 is read and served, and the next write stores it as v1", async () => {
  const server = await startServer({ strictRelease: false });
  const key = "/registry/apiextensions.k8s.io/customresourcedefinitions/things.example.com";
  const names = { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" };
  const conditions = ["NamesAccepted", "Established"].map((type) => ({ type, status: "True" }));
  const schema = {
    type: "object",
    properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
  };
  const stored = {
    kind: "CustomResourceDefinition",
    apiVersion: "apiextensions.k8s.io/v1beta1",
    metadata: { name: "things.example.com", uid: "8b3f5c0e-0000-4000-8000-000000000001", generation: 1 },
    spec: {
      ...{ group: "example.com", version: "v1", scope: "Cluster", names, preserveUnknownFields: false },
      validation: { openAPIV3Schema: schema },
      versions: [{ name: "v1", served: true, storage: true }],
      conversion: { strategy: "None" },
    },
    status: { conditions, acceptedNames: names, storedVersions: ["v1"] },
  };
  const value = Buffer.from(JSON.stringify(stored));
  await server.world.run(server.kv.commit({ kind: "put", key, value, expectedRevision: 0 }));
  await server.world.advance(1_000);
  const thing = {
    apiVersion: "example.com/v1",
    kind: "Thing",
    metadata: { name: "one" },
    spec: { size: 1, color: "red" },
  };
  const made = await server.create("/apis/example.com/v1/things", thing);
  expect([made.status, made.body.spec]).toEqual([201, { size: 1 }]);
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com";
  expect((await server.mergePatch(path, { metadata: { labels: { seen: "yes" } } })).status).toBe(200);
  const { items } = await server.world.run(server.kv.range({ start: key }));
  expect(JSON.parse(items[0]!.value.toString("utf8")).apiVersion).toBe("apiextensions.k8s.io/v1");
  await server[Symbol.asyncDispose]();
});

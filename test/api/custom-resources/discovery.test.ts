import { describe, expect, test } from "vitest";
import { startServer, type Json, type TestServer } from "../start.ts";
import { ANYTHING, define, definition, DEFINITIONS, GROUP, redefine, version } from "./define.ts";

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const SUBRESOURCES = {
  subresources: { status: {}, scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } },
};
const NAMES = { names: { plural: "widgets", kind: "Widget", shortNames: ["wd"], categories: ["all"] } };

async function groupOf(api: TestServer): Promise<Json> {
  const { body } = await api.get("/apis", { accept: AGGREGATED });
  return body.items.find((item: Json) => item.metadata.name === GROUP);
}

test("the group apiextensions.k8s.io is in the discovery documents", async () => {
  await using api = await startServer();
  const { body } = await api.get("/apis");
  expect(body.groups.find(({ name }: Json) => name === "apiextensions.k8s.io")).toMatchObject({
    preferredVersion: { groupVersion: "apiextensions.k8s.io/v1" },
  });
  const group = await api.get("/apis/apiextensions.k8s.io");
  expect(group.body.versions).toContainEqual({ groupVersion: "apiextensions.k8s.io/v1", version: "v1" });
  const resources = (await api.get("/apis/apiextensions.k8s.io/v1")).body.resources;
  expect(resources.map(({ name }: Json) => name)).toContain("customresourcedefinitions");
});

describe("a custom resource", () => {
  test("is in the aggregated document with its names, scope and subresources", async () => {
    await using api = await startServer();
    expect(await groupOf(api)).toBeUndefined();
    await define(api, definition([version("v1", ANYTHING, SUBRESOURCES)], NAMES));
    const { versions } = await groupOf(api);
    expect(versions).toHaveLength(1);
    expect(versions[0]).toMatchObject({ version: "v1", freshness: "Current" });
    expect(versions[0].resources).toMatchObject([
      {
        resource: "widgets",
        responseKind: { group: "test.example.com", version: "v1", kind: "Widget" },
        scope: "Namespaced",
        singularResource: "widget",
        shortNames: ["wd"],
        categories: ["all"],
        verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
        subresources: [
          {
            subresource: "status",
            responseKind: { group: "test.example.com", version: "v1", kind: "Widget" },
            verbs: ["get", "patch", "update"],
          },
          {
            subresource: "scale",
            responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
            verbs: ["get", "patch", "update"],
          },
        ],
      },
    ]);
  });

  test("is in the legacy documents", async () => {
    await using api = await startServer();
    await define(api, definition([version("v1", ANYTHING, SUBRESOURCES)], { ...NAMES, scope: "Cluster" }));
    const { body } = await api.get(`/apis/${GROUP}/v1`);
    expect(body).toMatchObject({ kind: "APIResourceList", groupVersion: `${GROUP}/v1` });
    expect(body.resources).toMatchObject([
      { name: "widgets", singularName: "widget", namespaced: false, kind: "Widget", shortNames: ["wd"] },
      { name: "widgets/status", singularName: "", kind: "Widget" },
      { name: "widgets/scale", group: "autoscaling", version: "v1", kind: "Scale" },
    ]);
    expect(body.resources[0].storageVersionHash).toMatch(/=$/);
  });

  test("has no storage version hash if the storage version is not served", async () => {
    await using api = await startServer();
    await define(api, definition([version("v1", ANYTHING, { served: false }), version("v2")]));
    expect((await api.get(`/apis/${GROUP}/v2`)).body.resources[0].storageVersionHash).toBeUndefined();
  });

  test("has its versions in the order of their maturity", async () => {
    await using api = await startServer();
    const mixed = ["v1beta1", "foo1", "v10", "v2", "v11alpha2", "v1", "v2beta3", "bar"];
    await define(api, definition(mixed.map((name) => version(name))));
    const { body } = await api.get(`/apis/${GROUP}`);
    const sorted = ["v10", "v2", "v1", "v2beta3", "v1beta1", "v11alpha2", "bar", "foo1"];
    expect(body.versions.map((one: Json) => one.version)).toEqual(sorted);
    expect(body.preferredVersion.version).toBe("v10");
    expect((await groupOf(api)).versions.map((one: Json) => one.version)).toEqual(sorted);
  });

  test("can share its group with other resources, and leaves the group when its last version is no longer served", async () => {
    await using api = await startServer();
    await define(api);
    await define(api, definition([version("v1")], { names: { plural: "gadgets", kind: "Gadget" } }));
    const shown = async (): Promise<string[]> =>
      (await api.get(`/apis/${GROUP}/v1`)).body.resources.map(({ name }: Json) => name);
    expect(await shown()).toEqual(["gadgets", "widgets"]);
    await redefine(api, `gadgets.${GROUP}`, (spec) => ({
      ...spec,
      versions: [version("v1", undefined, { served: false })],
    }));
    expect(await shown()).toEqual(["widgets"]);
    await api.delete(`${DEFINITIONS}/widgets.${GROUP}`);
    await api.world.advance(1_000);
    expect((await api.get(`/apis/${GROUP}`)).status).toBe(404);
    expect(await groupOf(api)).toBeUndefined();
  });
});

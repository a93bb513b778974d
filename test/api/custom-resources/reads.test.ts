import { describe, expect, test } from "vitest";
import { names, startServer, type Json, type TestServer } from "../start.ts";
import { define, definition, GROUP, schemaOf, version, widget, WIDGETS } from "./define.ts";

const SCHEMA = schemaOf({ color: { type: "string" }, size: { type: "integer" }, ready: { type: "boolean" } });
const COLUMNS = [
  { name: "Size", type: "integer", jsonPath: ".spec.size", description: "how big" },
  { name: "Color", type: "string", jsonPath: ".spec.color", priority: 1 },
  { name: "Ready", type: "boolean", jsonPath: ".spec.ready" },
  { name: "Made", type: "date", jsonPath: ".metadata.creationTimestamp" },
];
const SELECTABLE = [{ jsonPath: ".spec.color" }, { jsonPath: ".spec.size" }, { jsonPath: ".spec.ready" }];
const AS = (kind: string): Record<string, string> => ({ accept: `application/json;as=${kind};v=v1;g=meta.k8s.io` });

async function started(more: Json = {}): Promise<TestServer> {
  const api = await startServer();
  await define(api, definition([version("v1", SCHEMA, more), version("v2")]));
  await api.create(WIDGETS, widget("a", { metadata: { labels: { app: "x" } }, spec: { color: "red", size: 1 } }));
  await api.create(WIDGETS, widget("b", { spec: { color: "blue", size: 2, ready: true } }));
  await api.create(WIDGETS, widget("c", { spec: { color: "blue" } }));
  return api;
}

describe("a table", () => {
  test("has the columns of the CRD, and empty cells for missing values", async () => {
    await using api = await started({ additionalPrinterColumns: COLUMNS });
    const { body } = await api.get(WIDGETS, AS("Table"));
    expect(body.columnDefinitions.map(({ name, type, priority }: Json) => [name, type, priority])).toEqual([
      ["Name", "string", 0],
      ["Size", "integer", 0],
      ["Color", "string", 1],
      ["Ready", "boolean", 0],
      ["Made", "date", 0],
    ]);
    expect(body.columnDefinitions[1].description).toBe("how big");
    expect(body.rows.map(({ cells }: Json) => cells)).toEqual([
      ["a", 1, "red", null, "0s"],
      ["b", 2, "blue", true, "0s"],
      ["c", null, "blue", null, "0s"],
    ]);
  });

  test("of a CRD without columns shows the age", async () => {
    await using api = await started();
    await api.world.advance(90_000);
    const { body } = await api.get(`${WIDGETS}/a`, AS("Table"));
    expect(body.columnDefinitions.map(({ name }: Json) => name)).toEqual(["Name", "Age"]);
    expect(body.rows[0].cells).toEqual(["a", "90s"]);
  });
});

describe("PartialObjectMetadata can be requested", () => {
  test.each([
    ["an object", `${WIDGETS}/a`, "PartialObjectMetadata"],
    ["a list", WIDGETS, "PartialObjectMetadataList"],
  ])("for %s", async (_what, target, kind) => {
    await using api = await started();
    const { body } = await api.get(target, AS(kind));
    expect(body).toMatchObject({ apiVersion: "meta.k8s.io/v1", kind });
    expect((body.items ?? [body])[0].metadata).toMatchObject({ name: "a", labels: { app: "x" } });
    expect((body.items ?? [body])[0].spec).toBeUndefined();
  });
});

describe("a field selector", () => {
  test.each([
    ["spec.color=blue", ["b", "c"]],
    ["spec.color!=blue", ["a"]],
    ["spec.size=2", ["b"]],
    ["spec.size=", ["c"]],
    ["spec.ready=true", ["b"]],
    ["spec.color=blue,spec.size=2", ["b"]],
    ["metadata.name=a", ["a"]],
    ["metadata.namespace=default,spec.color=red", ["a"]],
  ])("%s selects %j", async (selector, expected) => {
    await using api = await started({ selectableFields: SELECTABLE });
    expect(names(await api.get(`${WIDGETS}?fieldSelector=${encodeURIComponent(selector)}`))).toEqual(expected);
  });

  test("may use only the selectable fields of the requested version", async () => {
    await using api = await started({ selectableFields: SELECTABLE });
    const query = "?fieldSelector=spec.color%3Dblue";
    const { body } = await api.get(WIDGETS.replace("/v1/", "/v2/") + query);
    expect(body).toMatchObject({ code: 400, message: "field label not supported: spec.color" });
  });

  test("filters a watch, and objects that start or stop matching appear as ADDED or DELETED", async () => {
    await using api = await started({ selectableFields: SELECTABLE });
    const watch = await api.watch(`${WIDGETS}?watch=1&fieldSelector=spec.color%3Dblue`);
    expect(await watch.story()).toEqual(["ADDED b", "ADDED c"]);
    await api.mergePatch(`${WIDGETS}/a`, { spec: { color: "blue" } });
    await api.mergePatch(`${WIDGETS}/b`, { spec: { color: "red" } });
    await api.mergePatch(`${WIDGETS}/c`, { spec: { size: 3 } });
    expect(await watch.story()).toEqual(["ADDED a", "DELETED b", "MODIFIED c"]);
  });

  test("filters the deletion of a collection", async () => {
    await using api = await started({ selectableFields: SELECTABLE });
    const deleted = await api.call("DELETE", `${WIDGETS}?fieldSelector=spec.color%3Dblue`);
    expect(names(deleted)).toEqual(["b", "c"]);
    expect(names(await api.get(WIDGETS))).toEqual(["a"]);
  });
});

test("a list is paged at one resource version", async () => {
  await using api = await started();
  const first = await api.get(`${WIDGETS}?limit=2`);
  expect(names(first)).toEqual(["a", "b"]);
  expect(first.body.metadata).toMatchObject({ remainingItemCount: 1 });
  await api.create(WIDGETS, widget("d"));
  const token = encodeURIComponent(first.body.metadata.continue);
  const second = await api.get(`${WIDGETS}?limit=2&continue=${token}`);
  expect(names(second)).toEqual(["c"]);
  expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
});

test("a watch resumes from a resource version", async () => {
  await using api = await started();
  const { body } = await api.get(WIDGETS);
  await api.jsonPatch(`${WIDGETS}/a`, [{ op: "add", path: "/spec/size", value: 9 }]);
  await api.delete(`${WIDGETS}/b`);
  const watch = await api.watch(`${WIDGETS}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);
  expect(await watch.story()).toEqual(["MODIFIED a", "DELETED b"]);
});

test("a streaming list ends its initial events with a bookmark of the kind of the resource", async () => {
  await using api = await started();
  const watch = await api.watch(
    `${WIDGETS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
  );
  const events = await watch.events();
  expect(events.map(({ type }) => type)).toEqual(["ADDED", "ADDED", "ADDED", "BOOKMARK"]);
  expect(events.at(-1).object).toMatchObject({
    apiVersion: `${GROUP}/v1`,
    kind: "Widget",
    metadata: { annotations: { "k8s.io/initial-events-end": "true" } },
  });
});

test("a watch of cluster-scoped objects by name sends events of that object only", async () => {
  await using api = await startServer();
  await define(api, definition([version("v1")], { scope: "Cluster" }));
  const target = `/apis/${GROUP}/v1/widgets`;
  const watch = await api.watch(`${target}?watch=1&fieldSelector=metadata.name%3Da&timeoutSeconds=600`);
  await api.create(target, widget("a"));
  await api.create(target, widget("b"));
  await api.jsonPatch(`${target}/a`, [{ op: "add", path: "/dummy", value: "test" }]);
  await api.delete(`${target}/a`);
  expect(await watch.story()).toEqual(["ADDED a", "MODIFIED a", "DELETED a"]);
});

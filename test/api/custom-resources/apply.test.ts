import { describe, expect, test } from "vitest";
import { startServer, type ApiTestResponse, type Json, type TestServer } from "../start.ts";
import { applyPatch, define, definition, GROUP, schemaOf, version, widget, WIDGETS } from "./define.ts";

const PORT = {
  type: "object",
  required: ["port"],
  properties: {
    port: { type: "integer" },
    protocol: { type: "string", default: "TCP" },
    name: { type: "string" },
  },
};
const LISTS = schemaOf({
  ports: {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    items: PORT,
  },
  tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
  plain: { type: "array", items: { type: "string" } },
  atomic: {
    type: "object",
    "x-kubernetes-map-type": "atomic",
    properties: { a: { type: "string" }, b: { type: "string" } },
  },
  granular: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } },
  nullable: { type: "string", nullable: true },
  size: { type: "integer" },
});

async function started(): Promise<TestServer> {
  const api = await startServer();
  await define(api, definition([version("v1", LISTS)]));
  return api;
}

function apply(api: TestServer, manager: string, spec: Json, query = ""): Promise<ApiTestResponse> {
  return applyPatch(api, `${WIDGETS}/a?fieldManager=${manager}${query}`, widget("a", { spec }));
}

function owned({ body }: ApiTestResponse, manager: string): Json {
  return body.metadata.managedFields.find((entry: Json) => entry.manager === manager)?.fieldsV1["f:spec"];
}

describe("server-side apply", () => {
  test("merges items of a map list by their keys, including defaulted keys", async () => {
    await using api = await started();
    await apply(api, "one", { ports: [{ port: 80, name: "web" }] });
    const both = await apply(api, "two", { ports: [{ port: 80, protocol: "UDP" }] });
    expect(both.body.spec.ports).toEqual([
      { port: 80, protocol: "TCP", name: "web" },
      { port: 80, protocol: "UDP" },
    ]);
    expect(Object.keys(owned(both, "two")["f:ports"])).toEqual(['k:{"port":80,"protocol":"UDP"}']);
    const without = await apply(api, "one", { ports: [] });
    expect(without.body.spec.ports).toEqual([{ port: 80, protocol: "UDP" }]);
  });

  test("tracks the manager of each value in a set", async () => {
    await using api = await started();
    await apply(api, "one", { tags: ["a", "b"] });
    const both = await apply(api, "two", { tags: ["b", "c"] });
    expect(both.body.spec.tags.toSorted()).toEqual(["a", "b", "c"]);
    expect(owned(both, "two")["f:tags"]).toEqual({ 'v:"b"': {}, 'v:"c"': {} });
    expect((await apply(api, "one", {})).body.spec.tags.toSorted()).toEqual(["b", "c"]);
  });

  test.each<[string, Json, Json, string]>([
    ["a list without a type", { plain: ["a"] }, { plain: ["b"] }, ".spec.plain"],
    ["an atomic map", { atomic: { a: "1" } }, { atomic: { b: "2" } }, ".spec.atomic"],
    ["a field", { size: 1 }, { size: 2 }, ".spec.size"],
  ])("treats %s as one unit with one manager", async (_what, first, second, field) => {
    await using api = await started();
    await apply(api, "one", first);
    const rejected = await apply(api, "two", second);
    expect(rejected.body).toMatchObject({ code: 409, reason: "Conflict" });
    expect(rejected.body.message).toBe(`Apply failed with 1 conflict: conflict with "one": ${field}`);
    const forced = await apply(api, "two", second, "&force=true");
    expect(forced.body.spec).toEqual(second);
  });

  test("tracks the manager of each key of a granular map", async () => {
    await using api = await started();
    await apply(api, "one", { granular: { a: "1" } });
    expect((await apply(api, "two", { granular: { b: "2" } })).body.spec.granular).toEqual({ a: "1", b: "2" });
  });

  test("accepts null for a nullable field and rejects it for others", async () => {
    await using api = await started();
    expect((await apply(api, "one", { nullable: null })).body.spec).toEqual({ nullable: null });
    const rejected = await apply(api, "two", { size: null });
    expect(rejected.body).toMatchObject({ code: 422 });
    expect(rejected.body.message).toContain("spec.size in body must be of type integer");
  });

  test("treats a null label as an empty string and drops null annotations", async () => {
    await using api = await started();
    const metadata = { labels: { empty: null }, annotations: null };
    const applied = await applyPatch(api, `${WIDGETS}/a?fieldManager=one`, widget("a", { metadata }));
    expect(applied.body.metadata.labels).toEqual({ empty: "" });
    expect(applied.body.metadata.annotations).toBeUndefined();
  });

  test("rejects an invalid timestamp in the metadata", async () => {
    await using api = await started();
    const metadata = { creationTimestamp: "yesterday" };
    const applied = await applyPatch(api, `${WIDGETS}/a?fieldManager=one`, widget("a", { metadata }));
    expect(applied.body.message).toContain('parsing time "yesterday"');
  });

  test("rejects duplicates in a set, and a creation rejects duplicates in a map list", async () => {
    await using api = await started();
    expect((await apply(api, "one", { tags: ["a", "a"] })).body.message).toContain("duplicate");
    const created = await api.create(WIDGETS, widget("b", { spec: { ports: [{ port: 1 }, { port: 1 }] } }));
    expect(created.body).toMatchObject({ code: 422, details: { causes: [{ reason: "FieldValueDuplicate" }] } });
  });

  test("in another version removes fields that the same manager applied in the earlier version and now omits", async () => {
    await using api = await startServer();
    await define(api, definition([version("v1", LISTS), version("v2", LISTS)]));
    await apply(api, "one", { size: 1, tags: ["a"] });
    const target = `${WIDGETS}/a?fieldManager=one`.replace("/v1/", "/v2/");
    const again = await applyPatch(api, target, { ...widget("a", { spec: { size: 2 } }), apiVersion: `${GROUP}/v2` });
    expect(again.body.spec).toEqual({ size: 2 });
    expect(again.body.metadata.managedFields).toMatchObject([{ manager: "one", apiVersion: `${GROUP}/v2` }]);
  });

  test("of an object of another kind, or with managedFields, is rejected", async () => {
    await using api = await started();
    const gadget = { ...widget("a"), kind: "Gadget" };
    const target = `${WIDGETS}/a?fieldManager=one`;
    expect((await applyPatch(api, target, gadget)).body.message).toBe(`invalid object type: ${GROUP}/v1, Kind=Gadget`);
    const managed = widget("a", { metadata: { managedFields: [{ manager: "x" }] } });
    expect((await applyPatch(api, target, managed)).body.message).toBe("metadata.managedFields must be nil");
  });
});

describe("server-side apply while another version of the CRD has fewer fields", () => {
  const text = { type: "string" };
  const FEW = schemaOf({ a: text, c: text });
  const DEFAULTED = schemaOf({ a: text, c: text, b: { ...text, default: "x" } });
  const MORE = schemaOf({ a: text, c: text, b: text });

  function applyIn(api: TestServer, at: string, spec: Json): Promise<ApiTestResponse> {
    const [manager, name, query = ""] = at.split(" ");
    const target = `${WIDGETS.replace("/v1/", `/${name}/`)}/a?fieldManager=${manager}${query}`;
    return applyPatch(api, target, { ...widget("a", { spec }), apiVersion: `${GROUP}/${name}` });
  }

  function managers({ body }: ApiTestResponse): string[] {
    return body.metadata.managedFields.map((entry: Json) => `${entry.manager} ${entry.apiVersion.split("/")[1]}`);
  }

  async function startedWith(older: Json, newer: Json): Promise<TestServer> {
    const api = await startServer();
    await define(api, definition([version("v1", older, { storage: false }), version("v2", newer, { storage: true })]));
    return api;
  }

  test("is rejected if a manager has written in that version, which does not have a defaulted field", async () => {
    await using api = await startedWith(FEW, DEFAULTED);
    await applyIn(api, "one v1", { a: "1" });
    const message = ".spec.b: field not declared in schema";
    for (const at of ["two v2", "one v2", "one v2 &force=true"])
      expect(await applyIn(api, at, { c: "1" })).toMatchObject({ status: 500, body: { message } });
    expect(managers(await applyIn(api, "two v1", { c: "1" }))).toEqual(["one v1", "two v1"]);
  });

  test("is rejected if it adds a field that the version of another manager does not have", async () => {
    await using api = await startedWith(FEW, MORE);
    await applyIn(api, "one v1", { a: "1" });
    const message = "failed to convert new object: .spec.b: field not declared in schema";
    expect((await applyIn(api, "two v2", { b: "1" })).body.message).toBe(message);
    expect(managers(await applyIn(api, "two v2", { c: "1" }))).toEqual(["one v1", "two v2"]);
  });

  test("is rejected if it adds a field that the version of its own previous apply does not have", async () => {
    await using api = await startedWith(FEW, MORE);
    await applyIn(api, "one v1", { a: "1" });
    expect((await applyIn(api, "one v2", { a: "1", b: "1" })).body.message).toBe(
      "failed to prune fields: failed to convert merged object to last applied version: .spec.b: field not declared in schema",
    );
    await applyIn(api, "two v1", { c: "1" });
    expect(managers(await applyIn(api, "one v2", { a: "1" }))).toEqual(["one v2", "two v1"]);
    expect((await applyIn(api, "one v2", { a: "1", b: "1" })).body.message).toBe(
      `failed to prune fields: failed add back owned items: failed to convert merged object at version ${GROUP}/v1: .spec.b: field not declared in schema`,
    );
  });

  test("succeeds again after an update, which removes the entries of the older version and keeps the others", async () => {
    await using api = await startedWith(FEW, MORE);
    await applyIn(api, "one v1", { a: "1" });
    await applyIn(api, "two v2", { c: "1" });
    const updated = await api.mergePatch(`${WIDGETS.replace("/v1/", "/v2/")}/a?fieldManager=three`, {
      spec: { b: "1" },
    });
    expect(managers(updated)).toEqual(["two v2", "three v2"]);
    expect((await applyIn(api, "one v2", { a: "2", b: "1" })).status).toBe(200);
  });
});

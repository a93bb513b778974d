import { describe, expect, test } from "vitest";
import { startServer, type Json } from "../start.ts";
import { define, definition, DEFINITIONS, GROUP, schemaOf, version, widget, WIDGETS } from "./define.ts";

const TARGET = `${WIDGETS}/a`;
const SCHEMA = "/spec/versions/0/schema/openAPIV3Schema/properties";

test("defaults are set on objects of requests and on objects that are read from the store", async () => {
  await using api = await startServer();
  const schema = { type: "object", properties: { a: { type: "string", default: "A" }, b: { type: "string" } } };
  await define(api, definition([version("v1", schema)]));
  expect((await api.create(WIDGETS, widget("a"))).body.a).toBe("A");
  const patch = async (operations: Json): Promise<void> => {
    expect((await api.jsonPatch(`${DEFINITIONS}/widgets.${GROUP}`, operations)).status).toBe(200);
    await api.world.advance(100);
  };
  await patch([{ op: "add", path: `${SCHEMA}/b/default`, value: "B" }]);
  expect((await api.get(TARGET)).body).toMatchObject({ a: "A", b: "B" });
  // A stored default stays when the default of the schema changes. A field that is not stored gets the new default.
  await patch([
    { op: "replace", path: `${SCHEMA}/a/default`, value: "A2" },
    { op: "replace", path: `${SCHEMA}/b/default`, value: "B2" },
  ]);
  expect((await api.get(TARGET)).body).toMatchObject({ a: "A", b: "B2" });
  expect((await api.create(WIDGETS, widget("b"))).body).toMatchObject({ a: "A2", b: "B2" });
});

test("a field that the schema no longer declares is not returned, but stays in the store", async () => {
  await using api = await startServer();
  await define(api, definition([version("v1", schemaOf({ kept: { type: "string" }, gone: { type: "string" } }))]));
  await api.create(WIDGETS, widget("a", { spec: { kept: "1", gone: "2" } }));
  const change = [{ op: "remove", path: `${SCHEMA}/spec/properties/gone` }];
  await api.jsonPatch(`${DEFINITIONS}/widgets.${GROUP}`, change);
  await api.world.advance(100);
  expect((await api.get(TARGET)).body.spec).toEqual({ kept: "1" });
  expect((await api.get(WIDGETS)).body.items[0].spec).toEqual({ kept: "1" });
  const { items } = await api.kv.range({ start: `/registry/${GROUP}/widgets/default/a` });
  expect(JSON.parse(items[0]!.value.toString()).spec).toEqual({ kept: "1", gone: "2" });
});

describe("a schema", () => {
  const created = async (spec: Json, sent: Json): Promise<Json> => {
    await using api = await startServer();
    await define(api, definition([version("v1", schemaOf(spec))]));
    return (await api.create(WIDGETS, widget("a", { spec: sent }))).body;
  };

  test("drops unknown fields, except where it sets x-kubernetes-preserve-unknown-fields", async () => {
    const free = {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { known: { type: "object", properties: { a: { type: "string" } } } },
    };
    const sent = { free: { other: [{ x: 1 }], known: { a: "1", b: "2" } }, unknown: 1 };
    expect((await created({ free }, sent)).spec).toEqual({ free: { other: [{ x: 1 }], known: { a: "1" } } });
  });

  test("with additionalProperties prunes unknown fields from every value of the map", async () => {
    const map = { type: "object", additionalProperties: { type: "object", properties: { a: { type: "string" } } } };
    expect((await created({ map }, { map: { x: { a: "1", b: "2" } } })).spec).toEqual({ map: { x: { a: "1" } } });
  });

  test.each<[unknown, boolean]>([
    [80, true],
    ["http", true],
    [1.5, false],
    [true, false],
  ])("with x-kubernetes-int-or-string accepts the value %j: %j", async (value, isTaken) => {
    const port = { "x-kubernetes-int-or-string": true };
    const body = await created({ port }, { port: value });
    expect(isTaken ? body.spec.port : body.code).toBe(isTaken ? value : 422);
  });

  test("accepts null for nullable fields and drops it for others", async () => {
    const spec = {
      may: { type: "string", nullable: true, default: "unused" },
      mayNot: { type: "string" },
      filled: { type: "string", default: "filled" },
    };
    const sent = { may: null, mayNot: null, filled: null };
    expect((await created(spec, sent)).spec).toEqual({ may: null, filled: "filled" });
  });

  const TEMPLATE = {
    template: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
  };

  test("with an embedded resource requires a kind and valid metadata in it", async () => {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", unknown: "gone" }, spec: { nodeName: "n" } };
    expect((await created(TEMPLATE, { template: pod })).spec.template).toEqual({ ...pod, metadata: { name: "p" } });
    expect((await created(TEMPLATE, { template: { metadata: {} } })).message).toContain(
      "spec.template.kind: Required value",
    );
    const misnamed = { apiVersion: "v1", kind: "Pod", metadata: { labels: { "bad key": "x" } } };
    expect((await created(TEMPLATE, { template: misnamed })).message).toContain("spec.template.metadata.labels");
  });

  test("reports every invalid field", async () => {
    const spec = {
      size: { type: "integer", minimum: 1, maximum: 10 },
      color: { type: "string", enum: ["red", "blue"] },
      name: { type: "string", pattern: "^[a-z]+$", maxLength: 3 },
    };
    const { code, details, message } = await created(spec, { size: 11, color: "pink", name: "A" });
    expect(code).toBe(422);
    expect(message).toContain(`Widget.${GROUP} "a" is invalid: [`);
    expect(details.causes.map(({ field }: Json) => field).toSorted()).toEqual(["spec.color", "spec.name", "spec.size"]);
  });
});

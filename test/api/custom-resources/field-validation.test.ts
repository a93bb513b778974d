import { describe, expect, test } from "vitest";
import { startServer, type Json, type TestServer } from "../start.ts";
import { ANYTHING, applyPatch, define, definition, GROUP, schemaOf, version, widget, WIDGETS } from "./define.ts";

const PORTS = {
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["name"],
  items: { type: "object", required: ["name"], properties: { name: { type: "string" }, port: { type: "integer" } } },
};
const SCHEMA = schemaOf({
  knownField: { type: "string" },
  cronSpec: { type: "string", pattern: String.raw`^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$` },
  ports: PORTS,
  template: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
});

async function started(schema: Json = SCHEMA): Promise<TestServer> {
  const api = await startServer();
  await define(api, definition([version("v1", schema)]));
  return api;
}

describe("an apply", () => {
  const TARGET = `${WIDGETS}/a?fieldManager=field_validation_mgr`;
  const apply = (api: TestServer, spec: Json, more: Json = {}): Promise<Json> =>
    applyPatch(api, `${TARGET}&fieldValidation=Strict`, widget("a", { spec, ...more })).then(({ body }) => body);

  test("of a valid object succeeds, and so does a second apply of the same object", async () => {
    await using api = await started();
    const spec = { cronSpec: "* * * * */5", ports: [{ name: "x", port: 80 }] };
    expect(await apply(api, spec)).toMatchObject({ kind: "Widget", spec });
    expect(await apply(api, { ...spec, ports: [{ name: "x", port: 81 }] })).toMatchObject({
      spec: { ports: [{ name: "x", port: 81 }] },
    });
  });

  test("against a schema that preserves unknown fields accepts every field", async () => {
    await using api = await started(ANYTHING);
    expect(await apply(api, { unknown1: "val1", unknown2: 2 })).toMatchObject({ spec: { unknown1: "val1" } });
  });

  test("with an undeclared field is rejected, whatever fieldValidation is", async () => {
    await using api = await started();
    const { code, message } = await apply(api, { knownField: "a", unknownField: "b" });
    expect(code).toBe(500);
    expect(message).toContain(".spec.unknownField: field not declared in schema");
    const lax = await applyPatch(api, `${TARGET}&fieldValidation=Ignore`, widget("a", { unknownRoot: 1 }));
    expect(lax.body.message).toContain(".unknownRoot: field not declared in schema");
  });

  test("with an undeclared metadata field is rejected, also in an embedded resource", async () => {
    await using api = await started();
    const { message } = await apply(api, {}, { metadata: { unknownMeta: "x" } });
    expect(message).toContain(".metadata.unknownMeta: field not declared in schema");
    const template = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", unknownSubMeta: "x" } };
    expect((await apply(api, { template })).message).toContain(
      ".spec.template.metadata.unknownSubMeta: field not declared in schema",
    );
  });

  test("with duplicate keys is rejected with their lines under fieldValidation=Strict, and accepted by default", async () => {
    await using api = await started(ANYTHING);
    const yaml = `apiVersion: ${GROUP}/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n  foo: 1\n  foo: 2\n`;
    const { body } = await applyPatch(api, `${TARGET}&fieldValidation=Strict`, yaml);
    expect(body).toMatchObject({ code: 400 });
    expect(body.message).toContain('line 7: key "foo" already set in map');
    expect((await applyPatch(api, TARGET, yaml)).status).toBe(201);
  });
});

describe("field validation of", () => {
  const TEXT = `{"apiVersion":"${GROUP}/v1","kind":"Widget","metadata":{"name":"a","zz":1,"aa":{"b":1,"b":2}},
    "extra":1,"spec":{"knownField":"1","knownField":"2","unknown":3,"unknown":4,"ports":[{"name":"p","x":1}]}}`;
  const PROBLEMS = [
    "duplicate field metadata.aa.b",
    "duplicate field spec.knownField",
    "duplicate field spec.unknown",
    "unknown field metadata.zz",
    "unknown field metadata.aa",
    "unknown field extra",
    "unknown field spec.ports[0].x",
    "unknown field spec.unknown",
  ].map((problem) => problem.replace(/(\S+)$/, '"$1"'));

  test("a creation reports duplicate fields before unknown fields, and by default sends a warning for each", async () => {
    await using api = await started();
    const headers = { "content-type": "application/json" };
    const strict = await api.call("POST", `${WIDGETS}?fieldValidation=Strict`, TEXT, { headers });
    const [duplicates, unknown] = [PROBLEMS.slice(0, 3), PROBLEMS.slice(3)];
    const prefix = 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: ';
    expect(strict.body).toMatchObject({ code: 400, reason: "BadRequest" });
    const { message } = strict.body;
    expect(message.startsWith(`${prefix}${duplicates.join(", ")}, unknown field`)).toBe(true);
    for (const problem of unknown) expect(message).toContain(problem);
    expect(message.endsWith(unknown.slice(2).join(", "))).toBe(true);
    const warned = await api.call("POST", WIDGETS, TEXT, { headers });
    expect(warned.status).toBe(201);
    expect(warned.headers["warning"]).toHaveLength(PROBLEMS.length);
    expect(warned.body.spec).toEqual({ knownField: "2", ports: [{ name: "p" }] });
  });

  test("a creation reports nothing with fieldValidation=Ignore", async () => {
    await using api = await started();
    const headers = { "content-type": "application/json" };
    const response = await api.call("POST", `${WIDGETS}?fieldValidation=Ignore`, TEXT, { headers });
    expect(response.status).toBe(201);
    expect(response.headers["warning"]).toBeUndefined();
  });

  test("a patch reports unknown fields", async () => {
    await using api = await started();
    await api.create(WIDGETS, widget("a"));
    const strict = `${WIDGETS}/a?fieldValidation=Strict`;
    expect((await api.mergePatch(strict, { spec: { nope: 1 } })).body).toMatchObject({ code: 422 });
    const added = [{ op: "add", path: "/spec", value: { nope: 1 } }];
    expect((await api.jsonPatch(strict, added)).body.message).toContain('unknown field "spec.nope"');
    const warned = await api.jsonPatch(`${WIDGETS}/a`, added);
    expect(warned.headers["warning"]).toEqual([String.raw`299 - "unknown field \"spec.nope\""`]);
    expect(warned.body.spec).toEqual({});
  });
});

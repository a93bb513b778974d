import { describe, expect, test } from "vitest";
import { startServer, type Json } from "../start.ts";
import { define, GROUP, widget, WIDGETS } from "./define.ts";

const JSON_TYPE = { "content-type": "application/json" };
const OWN = `"apiVersion":"${GROUP}/v1","kind":"Widget"`;
const UNRECOGNIZED = "the object provided is unrecognized (must be of type Widget): ";

describe("a body of a custom resource is rejected:", () => {
  test.each<[string, string, number, string]>([
    ["an empty object", "{}", 400, `${UNRECOGNIZED}Object 'Kind' is missing in '{}' ({})`],
    ["null", "null", 400, `${UNRECOGNIZED}Object 'Kind' is missing in 'null' (6e756c6c)`],
    [
      "no version",
      '{"kind":"Widget"}',
      400,
      `the API version in the data () does not match the expected API version (${GROUP}/v1)`,
    ],
    [
      "another version",
      '{"apiVersion":"v1","kind":"Widget"}',
      400,
      `the API version in the data (v1) does not match the expected API version (${GROUP}/v1)`,
    ],
    [
      "a malformed version",
      '{"apiVersion":"a/b/c","kind":"Widget"}',
      400,
      `${UNRECOGNIZED}unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)`,
    ],
    [
      "another kind",
      `{"apiVersion":"${GROUP}/v1","kind":"Gadget","metadata":{"name":"x"}}`,
      422,
      `Gadget.${GROUP} "x" is invalid: kind: Invalid value: "Gadget": must be Widget`,
    ],
    [
      "labels of another type",
      `{${OWN},"metadata":{"name":"x","labels":{"a":1}}}`,
      400,
      'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    ],
    [
      "metadata of another type",
      `{${OWN},"metadata":[]}`,
      400,
      'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal array into Go value of type v1.ObjectMeta',
    ],
    [
      "a number out of range",
      `{${OWN},"metadata":{"name":"x"},"spec":{"a":"1e400","b":-1e400}}`,
      400,
      'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number -1e400 into Go value of type float64',
    ],
  ])("%s", async (_what, text, code, message) => {
    await using api = await startServer();
    await define(api);
    expect((await api.call("POST", WIDGETS, text, { headers: JSON_TYPE })).body).toMatchObject({ code, message });
  });

  test("a protobuf body returns 415", async () => {
    await using api = await startServer();
    await define(api);
    const headers = { "content-type": "application/vnd.kubernetes.protobuf" };
    const { body } = await api.call("POST", WIDGETS, Buffer.from("k8s\u0000"), { headers });
    expect(body).toMatchObject({ code: 415, reason: "UnsupportedMediaType" });
    expect(body.message).toContain("accepted media types include: application/json, application/yaml");
  });

  test("a YAML body is accepted", async () => {
    await using api = await startServer();
    await define(api);
    const yaml = `apiVersion: ${GROUP}/v1\nkind: Widget\nmetadata:\n  name: from-yaml\nspec:\n  size: 1\n`;
    const created = await api.call("POST", WIDGETS, yaml, { headers: { "content-type": "application/yaml" } });
    expect(created.body).toMatchObject({ metadata: { name: "from-yaml" }, spec: { size: 1 } });
  });
});

describe("a patch", () => {
  const TARGET = `${WIDGETS}/a`;

  test("of type merge patch or JSON patch changes an object", async () => {
    await using api = await startServer();
    await define(api);
    await api.create(WIDGETS, widget("a", { spec: { size: 1, color: "red" } }));
    expect((await api.mergePatch(TARGET, { spec: { size: 2, color: null } })).body.spec).toEqual({ size: 2 });
    const operations = [{ op: "add", path: "/spec/tags", value: ["x"] }];
    expect((await api.jsonPatch(TARGET, operations)).body.spec).toEqual({ size: 2, tags: ["x"] });
  });

  test("of type strategic merge patch returns 415", async () => {
    await using api = await startServer();
    await define(api);
    await api.create(WIDGETS, widget("a"));
    const headers = { "content-type": "application/strategic-merge-patch+json" };
    expect((await api.call("PATCH", TARGET, "{}", { headers })).body).toMatchObject({
      code: 415,
      message:
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    });
  });

  test.each<[string, Json, number, string]>([
    [
      "another kind",
      { kind: "Gadget" },
      422,
      `Gadget.${GROUP} "a" is invalid: kind: Invalid value: "Gadget": must be Widget`,
    ],
    [
      "another version",
      { apiVersion: "v1" },
      422,
      `Widget "a" is invalid: apiVersion: Invalid value: "v1": must be ${GROUP}/v1`,
    ],
    [
      "another name",
      { metadata: { name: "b" } },
      400,
      "the name of the object (b) does not match the name on the URL (a)",
    ],
  ])("to %s is rejected", async (_what, patch, code, message) => {
    await using api = await startServer();
    await define(api);
    await api.create(WIDGETS, widget("a"));
    expect((await api.mergePatch(TARGET, patch)).body).toMatchObject({ code, message });
  });

  test("with an empty list of managedFields keeps the stored ones, and with a list of one empty entry clears them", async () => {
    await using api = await startServer();
    await define(api);
    const { body } = await api.create(WIDGETS, widget("a", { spec: { size: 1 } }));
    const kept = await api.mergePatch(TARGET, { metadata: { managedFields: [] } });
    expect(kept.body.metadata.managedFields).toEqual(body.metadata.managedFields);
    const reset = await api.mergePatch(TARGET, { metadata: { managedFields: [{}] } });
    expect(reset.body.metadata.managedFields).toBeUndefined();
  });
});

test("a PUT needs a resource version and does not create a missing object", async () => {
  await using api = await startServer();
  await define(api);
  await api.create(WIDGETS, widget("a"));
  const rejected = await api.put(`${WIDGETS}/a`, widget("a", { spec: { size: 1 } }));
  expect(rejected.body).toMatchObject({ code: 422 });
  expect(rejected.body.message).toContain(
    "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
  );
  expect((await api.put(`${WIDGETS}/b`, widget("b"))).status).toBe(404);
});

test("an object with a generateName gets a name with that prefix", async () => {
  await using api = await startServer();
  await define(api);
  const object = { ...widget(""), metadata: { generateName: "made-" } };
  expect((await api.create(WIDGETS, object)).body.metadata.name).toMatch(/^made-[a-z0-9]{5}$/);
});

test("a dry run changes nothing", async () => {
  await using api = await startServer();
  await define(api);
  expect((await api.create(`${WIDGETS}?dryRun=All`, widget("a"))).status).toBe(201);
  expect((await api.get(`${WIDGETS}/a`)).status).toBe(404);
  const { text } = await api.create(WIDGETS, widget("a"));
  expect((await api.mergePatch(`${WIDGETS}/a?dryRun=All`, { spec: { a: 1 } })).body.spec).toEqual({ a: 1 });
  expect((await api.delete(`${WIDGETS}/a?dryRun=All`)).status).toBe(200);
  expect((await api.get(`${WIDGETS}/a`)).text).toBe(text);
});

test("a finalizer name without a domain causes a warning", async () => {
  await using api = await startServer();
  await define(api);
  const created = await api.create(WIDGETS, widget("a", { metadata: { finalizers: ["plain"] } }));
  expect(created.headers["warning"]).toEqual([
    String.raw`299 - "metadata.finalizers: \"plain\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"`,
  ]);
});

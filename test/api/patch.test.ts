import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, deployment, startServer, type ApiTestResponse } from "./start.ts";

const TARGET = `${CONFIG_MAPS}/p`;
const TWO = configMap("p", { data: { a: "1", b: "2" } });

describe("a JSON patch", () => {
  test("applies its operations in order", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    const response = await api.jsonPatch(TARGET, [
      { op: "test", path: "/data/a", value: "1" },
      { op: "replace", path: "/data/a", value: "9" },
      { op: "add", path: "/data/c", value: "3" },
      { op: "remove", path: "/data/b" },
      { op: "copy", from: "/data/c", path: "/data/d" },
      { op: "move", from: "/data/c", path: "/data/e" },
    ]);
    expect(response.status).toBe(200);
    expect(response.body.data).toEqual({ a: "9", d: "3", e: "3" });
  });

  test.each([
    ["a failed test", [{ op: "test", path: "/data/a", value: "nope" }]],
    ["a missing path", [{ op: "remove", path: "/data/zzz" }]],
    ["an unknown operation", [{ op: "bogus", path: "/data/a" }]],
    ["an operation without a path", [{ op: "remove" }]],
    ["a path without a slash", [{ op: "remove", path: "data" }]],
    [
      "a later failure",
      [
        { op: "add", path: "/data/c", value: "3" },
        { op: "test", path: "/data/a", value: "nope" },
      ],
    ],
    ["the removal of everything", [{ op: "remove", path: "" }]],
    ["an operation that is null", [null]],
  ])("with %s returns 422 and changes nothing", async (_what, operations) => {
    await using api = await startServer();
    const { text } = await api.create(CONFIG_MAPS, TWO);
    const response = await api.jsonPatch(TARGET, operations);
    expect(response.status).toBe(422);
    expect((await api.get(TARGET)).text).toBe(text);
  });

  test.each([
    ["Warn", [7], "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"],
    [
      "Strict",
      [{ op: "remove", path: true }],
      "error decoding patch: json: cannot unmarshal bool into Go struct field jsonPatchOp.path of type string",
    ],
    ["Ignore", [[]], "json: cannot unmarshal array into Go value of type jsonpatch.Operation"],
    ["Ignore", {}, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"],
  ])("with field validation %s and the content %j returns 400", async (validation, operations, message) => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    const response = await api.jsonPatch(`${TARGET}?fieldValidation=${validation}`, operations);
    expect(response.body).toMatchObject({ code: 400, message });
  });

  test("reports unknown and duplicate fields of an operation", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    const patch = '[{"op":"test","path":"/kind","path":"/kind","value":"ConfigMap","Value":1}]';
    const headers = { "content-type": "application/json-patch+json" };
    const warned = await api.call("PATCH", TARGET, patch, { headers });
    expect(warned.status).toBe(200);
    expect(warned.headers["warning"]).toEqual([
      String.raw`299 - "json patch duplicate field \"[0].path\""`,
      String.raw`299 - "json patch unknown field \"[0].Value\""`,
    ]);
    expect((await api.call("PATCH", `${TARGET}?fieldValidation=Strict`, patch, { headers })).status).toBe(422);
  });

  test("that replaces the object by another type returns 422", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    const { body } = await api.jsonPatch(TARGET, [{ op: "replace", path: "", value: [] }]);
    expect(body).toMatchObject({ code: 422, reason: "Invalid" });
    expect(body.details.causes[0].message).toContain("cannot unmarshal array into Go value of type struct");
  });

  test('with a failed test operation returns the message "the server rejected our request due to an error in our request"', async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    const { body } = await api.jsonPatch(TARGET, [{ op: "test", path: "/data/a", value: "nope" }]);
    expect(body).toMatchObject({
      code: 422,
      reason: "Invalid",
      message: "the server rejected our request due to an error in our request",
      details: {},
    });
  });

  test("that is not a list returns 400", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    const response = await api.jsonPatch(TARGET, { not: "a list" });
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(
      "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
    );
  });

  test("with more than 10,000 operations returns 413", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    const response = await api.jsonPatch(
      TARGET,
      Array.from({ length: 10_001 }, () => ({ op: "test", path: "/data/a", value: "1" })),
    );
    expect(response.status).toBe(413);
  });

  test("cannot grow an object without limit by copy operations", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("p", { data: { a: "x".repeat(1_000) } }));
    const doubling = Array.from({ length: 30 }, (_, index) => ({ op: "copy", from: "/data", path: `/data/c${index}` }));
    const response = await api.jsonPatch(TARGET, doubling);
    expect(response.status).toBe(422);
    expect((await api.get("/livez")).status).toBe(200);
  });

  test("cannot grow an object beyond the size limit of a body, even by several requests", async () => {
    await using api = await startServer();
    const deployments = "/apis/apps/v1/namespaces/default/deployments";
    await api.create(deployments, deployment("big"));
    const template = "/spec/template/spec/containers/0";
    const grow = (member: string): Promise<ApiTestResponse> =>
      api.jsonPatch(`${deployments}/big`, [
        { op: "add", path: `${template}/${member}`, value: ["x".repeat(2_000_000)] },
      ]);
    expect((await grow("args")).status).toBe(200);
    const response = await grow("command");
    expect(response.body).toMatchObject({
      code: 413,
      reason: "RequestEntityTooLarge",
      message: "Request entity too large: limit is 3145728",
    });
    expect((await api.jsonPatch(`${deployments}/big`, [{ op: "remove", path: `${template}/args` }])).status).toBe(200);
  });

  test("of a missing object returns 404", async () => {
    await using api = await startServer();
    expect((await api.jsonPatch(`${CONFIG_MAPS}/nosuch`, [])).status).toBe(404);
    expect((await api.jsonPatch(`${CONFIG_MAPS}/nosuch`, 7)).status).toBe(404);
  });
});

describe("a merge patch", () => {
  test("removes fields by null and replaces others", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    expect((await api.mergePatch(TARGET, { data: { a: null, c: "3" } })).body.data).toEqual({ b: "2", c: "3" });
  });

  test("cannot change the name", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    const response = await api.mergePatch(TARGET, { metadata: { name: "other" } });
    expect(response.status).toBe(400);
    expect(response.body.message).toBe("the name of the object (other) does not match the name on the URL (p)");
  });

  test("can contain a resource version as a precondition", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, TWO);
    expect((await api.mergePatch(TARGET, { metadata: { resourceVersion: "1" } })).status).toBe(409);
    expect(
      (await api.mergePatch(TARGET, { metadata: { resourceVersion: body.metadata.resourceVersion }, data: { z: "1" } }))
        .status,
    ).toBe(200);
  });

  test("cannot change the uid", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, TWO);
    const rejected = await api.mergePatch(TARGET, { metadata: { uid: "other" } });
    expect(rejected.status).toBe(422);
    expect(rejected.body.message).toContain('metadata.uid: Invalid value: "other": field is immutable');
    expect((await api.mergePatch(TARGET, { metadata: { uid: body.metadata.uid }, data: { z: "1" } })).status).toBe(200);
  });

  test("cannot change the kind", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    const response = await api.mergePatch(TARGET, { kind: "Secret" });
    expect(response.status).toBe(422);
    expect(response.body.details.causes[0]).toMatchObject({ field: "patch", reason: "FieldValueInvalid" });
  });

  test("that sets a value of the wrong type returns 422", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    expect((await api.mergePatch(TARGET, { data: { a: 1 } })).status).toBe(422);
  });

  test("that is empty changes nothing, not even the resource version", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, TWO);
    expect((await api.mergePatch(TARGET, {})).body).toEqual(body);
  });

  test("that is not a JSON object returns 400", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    const headers = { "content-type": "application/merge-patch+json" };
    const broken = await api.call("PATCH", TARGET, "{", { headers });
    expect(broken.status).toBe(400);
    expect(broken.body.message).toBe("error decoding patch: unexpected end of JSON input");
    const list = await api.call("PATCH", TARGET, "[]", { headers });
    expect(list.body).toMatchObject({
      code: 400,
      message: "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
    });
    const nothing = await api.call("PATCH", TARGET, "null", { headers });
    expect(nothing.body).toMatchObject({ code: 400, message: "Invalid JSON Patch" });
    const lax = await api.call("PATCH", `${TARGET}?fieldValidation=Ignore`, "{", { headers });
    expect(lax.body).toMatchObject({ code: 400, message: "Invalid JSON Patch" });
  });

  test("can have a charset parameter in its media type", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    expect(
      (
        await api.call("PATCH", TARGET, "{}", {
          headers: { "content-type": "application/merge-patch+json; charset=utf-8" },
        })
      ).status,
    ).toBe(200);
  });
});

test.each(["application/json", "application/bogus", "application/apply-patch+cbor", ""])(
  "a patch of type %j returns 415",
  async (type) => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, TWO);
    expect((await api.call("PATCH", TARGET, "{}", { headers: { "content-type": type } })).status).toBe(415);
  },
);

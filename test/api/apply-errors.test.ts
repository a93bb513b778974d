/** Tests of the error messages of server-side apply, which are the same as those of kube-apiserver. */
import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, deployment, startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";

const TARGET = `${CONFIG_MAPS}/a`;
const DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/web";
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };

function apply(api: TestServer, target: string, body: Json): Promise<ApiTestResponse> {
  return api.call("PATCH", target, typeof body === "string" ? body : JSON.stringify(body), {
    headers: { "content-type": "application/apply-patch+yaml" },
  });
}

describe("the patch options", () => {
  test.each([
    ["", "fieldManager: Required value: is required for apply patch"],
    ["?fieldManager=", "fieldManager: Required value: is required for apply patch"],
    [
      "?dryRun=x",
      '[fieldManager: Required value: is required for apply patch, dryRun: Unsupported value: ["x"]: supported values: "All"]',
    ],
  ])("of an apply with the query %s are rejected: %s", async (query, message) => {
    await using api = await startServer();
    expect(await apply(api, TARGET + query, CONFIG_MAP)).toMatchObject({
      status: 422,
      body: { message: `PatchOptions.meta.k8s.io "" is invalid: ${message}`, details: { kind: "PatchOptions" } },
    });
  });

  test("of a merge patch must not contain force, even if it is false", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, CONFIG_MAP);
    expect((await api.mergePatch(`${TARGET}?force=false`, {})).body.message).toBe(
      'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
    );
  });

  test.each([
    ["false", 409],
    ["0", 409],
    ["true", 200],
    ["1", 200],
  ])("of an apply that conflicts, with force=%s, lead to status %i", async (force, status) => {
    await using api = await startServer();
    await apply(api, `${TARGET}?fieldManager=one`, { ...CONFIG_MAP, data: { a: "1" } });
    const response = await apply(api, `${TARGET}?fieldManager=two&force=${force}`, { ...CONFIG_MAP, data: { a: "2" } });
    expect(response.status).toBe(status);
  });
});

describe("the body of an apply", () => {
  test.each<[string, Json, number]>([
    ["invalid object type: /v1, Kind=Secret", { ...CONFIG_MAP, kind: "Secret" }, 400],
    ["invalid object type: apps/v1, Kind=ConfigMap", { ...CONFIG_MAP, apiVersion: "apps/v1" }, 400],
    ["invalid object type: /, Kind=ConfigMap", { kind: "ConfigMap" }, 400],
    ["invalid object type: /v1, Kind=", { apiVersion: "v1" }, 400],
    ["invalid object type: /, Kind=", { ...CONFIG_MAP, apiVersion: "a/b/c" }, 400],
    ["invalid object type: /, Kind=", "", 400],
    ["metadata.managedFields must be nil", { ...CONFIG_MAP, metadata: { name: "a", managedFields: [] } }, 400],
    [
      "the name of the object (b) does not match the name on the URL (a)",
      { ...CONFIG_MAP, metadata: { name: "b" } },
      400,
    ],
    [
      "the name of the object (a based on URL) was undeterminable: name must be provided",
      { ...CONFIG_MAP, metadata: {} },
      400,
    ],
    [
      "the namespace of the provided object does not match the namespace sent on the request",
      { ...CONFIG_MAP, metadata: { name: "a", namespace: "other" } },
      400,
    ],
    [
      'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid u, and no existing object was found',
      { ...CONFIG_MAP, metadata: { name: "a", uid: "u" } },
      409,
    ],
    [
      "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
      [],
      400,
    ],
    [
      "error decoding YAML: error converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context",
      "a: b\nc: d: e\n",
      400,
    ],
    [
      "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .nope: field not declared in schema",
      { ...CONFIG_MAP, nope: 1 },
      500,
    ],
    [
      "failed to create typed patch object (default/a; /v1, Kind=ConfigMap): .immutable: expected boolean, got &{yes}",
      { ...CONFIG_MAP, metadata: { name: "a", namespace: "default" }, immutable: "yes" },
      500,
    ],
    [
      "failed to convert new object (/a; /v1, Kind=ConfigMap) to proper version: unable to convert unstructured object to /v1, Kind=ConfigMap: error decoding from json: illegal base64 data at input byte 0",
      { ...CONFIG_MAP, binaryData: { a: "!" } },
      500,
    ],
  ])("is rejected: %s", async (message, body, status) => {
    await using api = await startServer();
    const response = await apply(api, `${TARGET}?fieldManager=one`, body);
    expect([response.status, response.body.message]).toEqual([status, message]);
    expect((await api.get(TARGET)).status).toBe(404);
  });

  test("is rejected if an integer field holds a fraction", async () => {
    await using api = await startServer();
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec: { replicas: 1.5 } };
    expect((await apply(api, `${DEPLOYMENT}?fieldManager=one`, body)).body.message).toBe(
      "failed to convert new object (/web; apps/v1, Kind=Deployment) to proper version: unable to convert unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to int32",
    );
  });

  test("is rejected if a list repeats the key of an item", async () => {
    await using api = await startServer();
    const containers = [{ name: "c" }, { name: "c" }];
    const spec = { template: { spec: { containers } } };
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec };
    expect((await apply(api, `${DEPLOYMENT}?fieldManager=one`, body)).body.message).toBe(
      'failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name="c"]',
    );
  });

  test("is rejected with 409 if its resourceVersion is outdated", async () => {
    await using api = await startServer();
    const first = await apply(api, `${TARGET}?fieldManager=one`, { ...CONFIG_MAP, data: { a: "1" } });
    const { resourceVersion } = first.body.metadata;
    const seen = { ...CONFIG_MAP, metadata: { name: "a", resourceVersion } };
    expect((await apply(api, `${TARGET}?fieldManager=one`, { ...seen, data: { a: "2" } })).status).toBe(200);
    expect(await apply(api, `${TARGET}?fieldManager=one`, { ...seen, data: { a: "3" } })).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining("the object has been modified") },
    });
  });
});

describe("duplicate keys", () => {
  const TEXT = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: "1"\n  a: "2"\n';
  const JSON_TEXT = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"1","a":"2"}}';

  test.each([
    [TEXT, 7],
    [JSON_TEXT, 1],
  ])("are rejected with fieldValidation=Strict, and nothing is stored", async (text, line) => {
    await using api = await startServer();
    expect(await apply(api, `${TARGET}?fieldManager=one&fieldValidation=Strict`, text)).toMatchObject({
      status: 400,
      body: {
        message: `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line ${line}: key "a" already set in map`,
      },
    });
    expect((await api.get(TARGET)).status).toBe(404);
  });

  test("cause a warning by default and none with fieldValidation=Ignore, and the last value is stored in either case", async () => {
    await using api = await startServer();
    const warned = await apply(api, `${TARGET}?fieldManager=one`, TEXT);
    expect(warned).toMatchObject({ status: 201, body: { data: { a: "2" } } });
    expect(warned.headers["warning"]).toEqual(['299 - "line 7: key \\"a\\" already set in map"']);
    const ignored = await apply(api, `${TARGET}?fieldManager=one&fieldValidation=Ignore`, TEXT);
    expect(ignored.headers["warning"]).toBeUndefined();
  });
});

test("an apply that makes the object larger than the size limit of a request returns 413", async () => {
  await using api = await startServer();
  const applied = (name: string): Json => {
    const { spec } = deployment("web");
    const containers = [{ name, image: "example/app:1", args: ["x".repeat(1_000_000)] }];
    const template = { ...spec.template, spec: { containers } };
    return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec: { ...spec, template } };
  };
  const statuses: number[] = [];
  for (const manager of ["a", "b", "c", "d"]) {
    statuses.push((await apply(api, `${DEPLOYMENT}?fieldManager=${manager}`, applied(manager))).status);
  }
  expect(statuses).toEqual([201, 200, 200, 413]);
});

test("an apply in CBOR returns 415", async () => {
  await using api = await startServer();
  const headers = { "content-type": "application/apply-patch+cbor" };
  expect((await api.call("PATCH", `${TARGET}?fieldManager=one`, "x", { headers })).status).toBe(415);
});

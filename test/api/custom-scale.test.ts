/**
 * Tests of the scale subresource of custom resources. The CRD declares the paths of the replicas and the label
 * selector.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NOXUS = "/apis/example.com/v1/namespaces/default/noxus";
const SCALE = {
  specReplicasPath: ".spec.size.replicas",
  statusReplicasPath: ".status.size.replicas",
  labelSelectorPath: ".status.sel",
};
const MISSING = 'the spec replicas field ".spec.size.replicas"';

let server: TestServer;

beforeEach(async () => {
  server = await startServer();
  const names = { plural: "noxus", singular: "noxu", kind: "Noxu", listKind: "NoxuList" };
  const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema } };
  await server.create(DEFINITIONS, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "noxus.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names,
      versions: [{ ...version, subresources: { status: {}, scale: SCALE } }],
    },
  });
  await server.world.advance(10_000);
});

afterEach(() => server[Symbol.asyncDispose]());

async function make(spec: Json, status?: Json): Promise<void> {
  const made = await server.create(`${NOXUS}?fieldManager=maker`, {
    apiVersion: "example.com/v1",
    kind: "Noxu",
    metadata: { name: "one" },
    spec,
  });
  expect(made.status).toBe(201);
  if (status !== undefined) await server.mergePatch(`${NOXUS}/one/status?fieldManager=maker`, { status });
}

function scale(replicas: number | undefined, metadata: Json = {}): Json {
  const spec = replicas === undefined ? {} : { replicas };
  return { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "one", ...metadata }, spec };
}

function put(body: Json, query = ""): Promise<ApiTestResponse> {
  return server.call("PUT", `${NOXUS}/one/scale${query}`, JSON.stringify(body));
}

function merge(patch: Json): Promise<ApiTestResponse> {
  return server.mergePatch(`${NOXUS}/one/scale`, patch);
}

function apply(body: Json, query: string): Promise<ApiTestResponse> {
  const headers = { "content-type": "application/apply-patch+yaml" };
  return server.call("PATCH", `${NOXUS}/one/scale?${query}`, JSON.stringify(body), { headers });
}

async function one(): Promise<Json> {
  return (await server.get(`${NOXUS}/one`)).body;
}

/**
 * For each managedFields entry that owns fields below spec: "manager operation subresource", whether it has a time, and
 * these fields.
 */
async function owners(): Promise<Json> {
  const entries: Json[] = (await one()).metadata.managedFields;
  return entries
    .filter((entry) => entry.fieldsV1["f:spec"] !== undefined)
    .map(({ manager, operation, subresource = "", time, fieldsV1 }) => [
      `${manager} ${operation} ${subresource}`.trim(),
      time !== undefined,
      fieldsV1["f:spec"],
    ]);
}

test("a scale contains the values at the declared paths", async () => {
  await make({ size: { replicas: 3 } }, { size: { replicas: 2 }, sel: "a=b" });
  const { metadata } = await one();
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  expect(await server.get(`${NOXUS}/one/scale`)).toMatchObject({
    status: 200,
    body: {
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: { replicas: 3 },
      status: { replicas: 2, selector: "a=b" },
    },
  });
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const table = await server.get(`${NOXUS}/one/scale`, { accept });
  expect(table.body.columnDefinitions.map((column: Json) => [column.name, column.type])).toEqual([
    ["Name", "string"],
    ["Desired", "integer"],
    ["Available", "integer"],
    ["Age", "date"],
  ]);
  expect(table.body.rows[0].cells.slice(0, 3)).toEqual(["one", 3, 2]);
});

test("a scale of a missing object returns 404", async () => {
  const missing = { status: 404, body: { message: 'noxus.example.com "one" not found' } };
  expect(await server.get(`${NOXUS}/one/scale`)).toMatchObject(missing);
  expect(await put(scale(2))).toMatchObject(missing);
  expect(await apply(scale(2), "fieldManager=me")).toMatchObject(missing);
});

test("a PUT of a scale changes only the replicas, and its manager owns them", async () => {
  await make({ size: { replicas: 3, other: 1 } });
  const written = await put({ ...scale(5, { labels: { a: "b" } }), status: { replicas: 9 } }, "?fieldManager=writer");
  expect(written).toMatchObject({
    status: 200,
    body: { kind: "Scale", spec: { replicas: 5 }, status: { replicas: 0 } },
  });
  const after = await one();
  expect(after.spec).toEqual({ size: { replicas: 5, other: 1 } });
  expect(after.metadata).toMatchObject({ generation: 2 });
  expect(after.metadata.labels).toBeUndefined();
  expect(after.status).toBeUndefined();
  expect(await owners()).toEqual([
    ["writer Update scale", false, { "f:size": { "f:replicas": {} } }],
    ["maker Update", true, { ".": {}, "f:size": { ".": {}, "f:other": {} } }],
  ]);
  const unchanged = await put(scale(5), "?fieldManager=other");
  expect(unchanged.body.metadata.resourceVersion).toBe(after.metadata.resourceVersion);
  expect((await merge({ spec: { replicas: null } })).body.spec).toEqual({});
  expect((await one()).spec.size.replicas).toBe(0);
});

test("a scale with negative replicas is rejected", async () => {
  await make({ size: { replicas: 3 } });
  const negative = {
    status: 422,
    body: {
      message:
        'Noxu.example.com "one" is invalid: .spec.size.replicas: Invalid value: -1: should be a non-negative integer',
    },
  };
  expect(await put(scale(-1))).toMatchObject(negative);
  expect(await merge({ spec: { replicas: -1 } })).toMatchObject(negative);
  expect(await apply(scale(-1), "fieldManager=me&force=true")).toMatchObject(negative);
});

test("a resourceVersion in a PUT of a scale is a precondition", async () => {
  await make({ size: { replicas: 3 } });
  expect((await put(scale(4, { resourceVersion: "1" }))).status).toBe(409);
  const { resourceVersion } = (await one()).metadata;
  expect((await put(scale(4, { resourceVersion }))).status).toBe(200);
  expect((await apply(scale(5, { resourceVersion }), "fieldManager=me&force=true")).status).toBe(409);
});

describe("an object without replicas", () => {
  test.each([{}, { size: {} }, { size: { other: 1 } }])(
    "(spec %j) returns 500 for its scale until replicas are set",
    async (spec) => {
      await make(spec);
      expect(await server.get(`${NOXUS}/one/scale`)).toMatchObject({
        status: 500,
        body: {
          reason: "InternalError",
          message: `Internal error occurred: ${MISSING} does not exist`,
          details: { causes: [{ message: `${MISSING} does not exist` }] },
        },
      });
      const empty = { status: 400, body: { message: `${MISSING} cannot be empty` } };
      expect(await merge({ spec: {} })).toMatchObject(empty);
      expect(await put(scale(-2_147_483_648))).toMatchObject(empty);
      expect(await apply(scale(undefined), "fieldManager=me")).toMatchObject(empty);
      expect((await one()).spec).toEqual(spec);
      expect(await merge({ spec: { replicas: 4 } })).toMatchObject({ status: 200, body: { spec: { replicas: 4 } } });
      expect((await one()).spec).toEqual({ size: { ...spec.size, replicas: 4 } });
      expect((await owners())[0].slice(1)).toEqual([false, { "f:size": { "f:replicas": {} } }]);
    },
  );

  test("gets 0 replicas from a PUT of a Scale without replicas", async () => {
    await make({});
    expect((await put(scale(undefined))).body.spec).toEqual({});
    expect((await one()).spec).toEqual({ size: { replicas: 0 } });
  });

  test("cannot be scaled if the field that contains the replicas is null", async () => {
    await make({ size: null });
    expect(await put(scale(4))).toMatchObject({
      status: 500,
      body: { message: "value cannot be set because .spec.size is not a map[string]interface{}" },
    });
  });
});

test("a manager that applies a scale owns the replicas", async () => {
  await make({ size: { replicas: 3 } });
  const conflict = await apply(scale(8), "fieldManager=me");
  expect(conflict).toMatchObject({
    status: 409,
    body: {
      message: 'Apply failed with 1 conflict: conflict with "maker" using autoscaling/v1: .spec.replicas',
      details: { causes: [{ field: ".spec.replicas", reason: "FieldManagerConflict" }] },
    },
  });
  expect(await apply(scale(8), "fieldManager=me&force=true")).toMatchObject({
    status: 200,
    body: { spec: { replicas: 8 } },
  });
  expect(await owners()).toEqual([
    ["me Apply scale", false, { "f:size": { "f:replicas": {} } }],
    ["maker Update", true, { ".": {}, "f:size": {} }],
  ]);
  expect((await one()).metadata.generation).toBe(2);
  expect((await apply(scale(undefined), "fieldManager=me")).body.spec).toEqual({});
  expect(await apply({ ...scale(1), metadata: { name: "two" } }, "fieldManager=me")).toMatchObject({
    status: 400,
    body: { message: "the name of the object (two) does not match the name on the URL (one)" },
  });
});

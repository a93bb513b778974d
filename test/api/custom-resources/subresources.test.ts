import { describe, expect, test } from "vitest";
import { startServer, type Json, type TestServer } from "../start.ts";
import { applyPatch, define, definition, DEFINITIONS, GROUP, schemaOf, version, widget, WIDGETS } from "./define.ts";

const SCHEMA = schemaOf(
  { replicas: { type: "integer" }, size: { type: "integer" } },
  {
    status: {
      type: "object",
      properties: { replicas: { type: "integer" }, selector: { type: "string" }, phase: { type: "string" } },
    },
  },
);
const SCALE = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".status.selector",
};
const TARGET = `${WIDGETS}/a`;

async function started(subresources: Json, schema: Json = SCHEMA): Promise<TestServer> {
  const api = await startServer();
  await define(api, definition([version("v1", schema, { subresources })]));
  return api;
}

describe("the status", () => {
  test("is written only through its subresource, which changes no other field", async () => {
    await using api = await started({ status: {} });
    const { body } = await api.create(WIDGETS, widget("a", { spec: { size: 1 }, status: { phase: "ignored" } }));
    expect(body.status).toBeUndefined();
    const put = await api.put(`${TARGET}/status`, {
      ...body,
      metadata: { ...body.metadata, labels: { not: "here" } },
      spec: { size: 9 },
      status: { phase: "Ready", unknown: 1 },
    });
    expect(put.body).toMatchObject({ spec: { size: 1 }, status: { phase: "Ready" } });
    expect(put.body.status.unknown).toBeUndefined();
    expect(put.body.metadata.labels).toBeUndefined();
    const main = await api.mergePatch(TARGET, { spec: { size: 2 }, status: { phase: "ignored" } });
    expect(main.body).toMatchObject({ spec: { size: 2 }, status: { phase: "Ready" } });
    expect((await api.get(`${TARGET}/status`)).text).toBe((await api.get(TARGET)).text);
  });

  test("does not increment the generation when it changes, and neither does a change of the metadata", async () => {
    await using api = await started({ status: {} });
    await api.create(WIDGETS, widget("a", { spec: { size: 1 } }));
    const generation = async (response: Promise<{ body: Json }>): Promise<number> =>
      (await response).body.metadata.generation;
    expect(await generation(api.mergePatch(`${TARGET}/status`, { status: { phase: "x" } }))).toBe(1);
    expect(await generation(api.mergePatch(TARGET, { metadata: { labels: { a: "b" } } }))).toBe(1);
    expect(await generation(api.mergePatch(TARGET, { spec: { size: 2 } }))).toBe(2);
    expect(await generation(api.mergePatch(TARGET, { metadata: { generation: 40 } }))).toBe(2);
  });

  test("is an ordinary field if the CRD does not enable the status subresource", async () => {
    await using api = await started({});
    const { body } = await api.create(WIDGETS, widget("a", { status: { phase: "here" } }));
    expect(body.status).toEqual({ phase: "here" });
    const changed = await api.mergePatch(TARGET, { status: { phase: "there" } });
    expect(changed.body).toMatchObject({ status: { phase: "there" }, metadata: { generation: 2 } });
    expect((await api.get(`${TARGET}/status`)).status).toBe(404);
    expect((await api.get(`${TARGET}/nosuch`)).status).toBe(404);
  });

  test("can be applied, and the manager of the apply owns it", async () => {
    await using api = await started({ status: {} });
    await api.create(WIDGETS, widget("a"));
    const applied = await applyPatch(
      api,
      `${TARGET}/status?fieldManager=operator`,
      widget("a", { spec: { size: 9 }, status: { phase: "x" } }),
    );
    expect(applied.body.spec).toBeUndefined();
    expect(applied.body.metadata.managedFields).toMatchObject([
      { manager: "operator", operation: "Apply", subresource: "status", fieldsV1: { "f:status": { "f:phase": {} } } },
    ]);
  });

  test("is validated against its schema", async () => {
    await using api = await started({ status: {} });
    await api.create(WIDGETS, widget("a"));
    expect((await api.mergePatch(`${TARGET}/status`, { status: { phase: 1 } })).body).toMatchObject({
      code: 422,
      details: { causes: [{ field: "status.phase", reason: "FieldValueTypeInvalid" }] },
    });
  });
});

describe("the scale", () => {
  test("is read from and written to the paths that the CRD declares", async () => {
    await using api = await started({ status: {}, scale: SCALE });
    await api.create(WIDGETS, widget("a", { spec: { replicas: 2 } }));
    await api.mergePatch(`${TARGET}/status`, { status: { replicas: 1, selector: "app=a" } });
    const { body } = await api.get(`${TARGET}/scale`);
    expect(body).toMatchObject({
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "a", namespace: "default" },
      spec: { replicas: 2 },
      status: { replicas: 1, selector: "app=a" },
    });
    expect((await api.put(`${TARGET}/scale`, { ...body, spec: { replicas: 5 } })).body.spec).toEqual({ replicas: 5 });
    expect((await api.get(TARGET)).body).toMatchObject({ spec: { replicas: 5 }, metadata: { generation: 2 } });
    expect((await api.mergePatch(`${TARGET}/scale`, { spec: { replicas: 6 } })).body.spec.replicas).toBe(6);
    expect((await api.mergePatch(`${TARGET}/scale`, { spec: { replicas: -1 } })).body.code).toBe(422);
  });

  test.each<[Json, string, string]>([
    [-1, "FieldValueInvalid", "Invalid value: -1: should be a non-negative integer"],
    [2 ** 31, "FieldValueInvalid", "Invalid value: 2147483648: should be less than or equal to 2147483647"],
  ])("with %j replicas is rejected when the object is created", async (replicas, reason, message) => {
    await using api = await started({ scale: SCALE });
    const { body } = await api.create(WIDGETS, widget("a", { spec: { replicas } }));
    expect(body.details.causes).toContainEqual({ field: ".spec.replicas", reason, message });
  });

  test("is served only by the versions that declare it", async () => {
    await using api = await startServer();
    const versions = [version("v1", SCHEMA, { subresources: { scale: SCALE } }), version("v2", SCHEMA)];
    await define(api, definition(versions));
    await api.create(WIDGETS, widget("a", { spec: { replicas: 1 } }));
    expect((await api.get(`${TARGET}/scale`)).status).toBe(200);
    expect((await api.get(`${TARGET}/scale`.replace("/v1/", "/v2/"))).status).toBe(404);
  });
});

test("a subresource is served as soon as the CRD declares the subresource", async () => {
  await using api = await started({});
  await api.create(WIDGETS, widget("a", { status: { phase: "x" } }));
  await api.jsonPatch(`${DEFINITIONS}/widgets.${GROUP}`, [
    { op: "add", path: "/spec/versions/0/subresources", value: { status: {} } },
  ]);
  await api.world.advance(100);
  expect((await api.get(`${TARGET}/status`)).status).toBe(200);
  expect((await api.mergePatch(TARGET, { status: { phase: "y" } })).body.status).toEqual({ phase: "x" });
});

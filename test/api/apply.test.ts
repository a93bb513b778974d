/**
 * Tests of server-side apply through a whole server. The tests of the merge itself are in src/objects/managed-fields.
 */
import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, deployment, startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const HPAS = "namespaces/default/horizontalpodautoscalers";

function apply(api: TestServer, target: string, body: Json): Promise<ApiTestResponse> {
  return api.call("PATCH", target, JSON.stringify(body), {
    headers: { "content-type": "application/apply-patch+yaml" },
  });
}

function configMap(data: Json, metadata: Json = {}): Json {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", ...metadata }, data };
}

/** The owned fields (fieldsV1) of each managedFields entry, keyed by "manager operation apiVersion subresource". */
function owners(response: ApiTestResponse): Record<string, Json> {
  const entries: Json[] = response.body.metadata.managedFields ?? [];
  return Object.fromEntries(
    entries.map((entry) => [
      [entry.manager, entry.operation, entry.apiVersion, entry.subresource ?? ""].join(" ").trim(),
      entry.fieldsV1,
    ]),
  );
}

describe("apply", () => {
  test("creates a missing object, and the manager owns neither defaulted fields nor the status", async () => {
    await using api = await startServer();
    const created = await apply(api, `${DEPLOYMENTS}/web?fieldManager=one`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: deployment("web").spec,
      status: { replicas: 5 },
    });
    expect(created.status).toBe(201);
    expect(created.body.metadata.generation).toBe(1);
    expect(created.body.spec.replicas).toBe(1);
    const { one } = Object.fromEntries(
      Object.entries(owners(created)).map(([key, value]) => [key.split(" ")[0], value]),
    );
    expect(one["f:status"]).toBeUndefined();
    expect(one["f:spec"]["f:selector"]).toEqual({});
    expect(one["f:spec"]["f:revisionHistoryLimit"]).toBeUndefined();
  });

  test("merges fields, reports conflicts, and with force takes over ownership", async () => {
    await using api = await startServer();
    await apply(api, `${CONFIG_MAPS}/a?fieldManager=one`, configMap({ a: "1", b: "1" }));
    const conflict = await apply(api, `${CONFIG_MAPS}/a?fieldManager=two`, configMap({ b: "2" }));
    expect(conflict).toMatchObject({
      status: 409,
      body: {
        reason: "Conflict",
        message: 'Apply failed with 1 conflict: conflict with "one": .data.b',
        details: { causes: [{ reason: "FieldManagerConflict", message: 'conflict with "one"', field: ".data.b" }] },
      },
    });
    const forced = await apply(api, `${CONFIG_MAPS}/a?fieldManager=two&force=true`, configMap({ b: "2" }));
    expect(forced.status).toBe(200);
    expect(forced.body.data).toEqual({ a: "1", b: "2" });
    expect(owners(forced)).toEqual({
      "one Apply v1": { "f:data": { "f:a": {} } },
      "two Apply v1": { "f:data": { "f:b": {} } },
    });
    const left = await apply(api, `${CONFIG_MAPS}/a?fieldManager=one`, configMap({ c: "3" }));
    expect(left.body.data).toEqual({ b: "2", c: "3" });
  });

  test("without changes writes nothing", async () => {
    await using api = await startServer();
    const applied = { ...deployment("web"), apiVersion: "apps/v1", kind: "Deployment" };
    const first = await apply(api, `${DEPLOYMENTS}/web?fieldManager=one`, applied);
    await api.world.advance(5_000);
    const again = await apply(api, `${DEPLOYMENTS}/web?fieldManager=one`, applied);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(first.body);
    // A null value sets no field, so it must not count as a change either.
    const withNull = { ...applied, metadata: { ...applied.metadata, creationTimestamp: null } };
    expect((await apply(api, `${DEPLOYMENTS}/web?fieldManager=one`, withNull)).body).toEqual(first.body);
  });

  test("treats equal quantities in different notations as equal, even if the object also has a null field", async () => {
    await using api = await startServer();
    const applied = (cpu: Json, template: Json): Json => {
      const { spec } = deployment("web");
      const [container] = spec.template.spec.containers;
      const containers = [{ ...container, resources: { limits: { cpu } } }];
      const metadata = { ...spec.template.metadata, ...template };
      return {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web" },
        spec: { ...spec, template: { metadata, spec: { containers } } },
      };
    };
    const first = await apply(api, `${DEPLOYMENTS}/web?fieldManager=one`, applied("1", {}));
    expect(first.status).toBe(201);
    for (const template of [{}, { creationTimestamp: null }]) {
      const shared = await apply(api, `${DEPLOYMENTS}/web?fieldManager=two`, applied(1, template));
      expect([shared.status, shared.body.message]).toEqual([200, undefined]);
      expect(shared.body.spec).toEqual(first.body.spec);
    }
  });

  test("in a dry run stores nothing", async () => {
    await using api = await startServer();
    const target = `${CONFIG_MAPS}/a?fieldManager=one&dryRun=All`;
    const created = await apply(api, target, configMap({ a: "1" }));
    expect(created).toMatchObject({ status: 201, body: { data: { a: "1" } } });
    expect(owners(created)).toEqual({ "one Apply v1": { "f:data": { "f:a": {} } } });
    expect((await api.get(`${CONFIG_MAPS}/a`)).status).toBe(404);
    await apply(api, `${CONFIG_MAPS}/a?fieldManager=one`, configMap({ a: "1" }));
    expect((await apply(api, target, configMap({ a: "2" }))).body.data).toEqual({ a: "2" });
    expect((await api.get(`${CONFIG_MAPS}/a`)).body.data).toEqual({ a: "1" });
  });

  test("accepts YAML", async () => {
    await using api = await startServer();
    const text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  # a comment\n  a: '1'\n";
    const headers = { "content-type": "application/apply-patch+yaml" };
    const created = await api.call("PATCH", `${CONFIG_MAPS}/a?fieldManager=one`, text, { headers });
    expect(created).toMatchObject({ status: 201, body: { data: { a: "1" } } });
  });

  test("in another version converts the fields that the same manager owns in the earlier version", async () => {
    await using api = await startServer();
    const target = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
    const v1 = (spec: Json): Json => ({
      apiVersion: "autoscaling/v1",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "h" },
      spec: { scaleTargetRef: target, maxReplicas: 3, ...spec },
    });
    const percentage = { minReplicas: 2, targetCPUUtilizationPercentage: 50 };
    await apply(api, `/apis/autoscaling/v1/${HPAS}/h?fieldManager=one`, v1(percentage));
    const cpu = { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } };
    const v2 = { ...v1({ metrics: [{ type: "Resource", resource: cpu }] }), apiVersion: "autoscaling/v2" };
    const conflict = await apply(api, `/apis/autoscaling/v2/${HPAS}/h?fieldManager=two`, v2);
    expect(conflict.body.message).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.targetCPUUtilizationPercentage',
    );
    const moved = await apply(api, `/apis/autoscaling/v2/${HPAS}/h?fieldManager=one`, v2);
    expect(moved.status).toBe(200);
    expect(Object.keys(owners(moved))).toEqual(["one Apply autoscaling/v2"]);
    const { minReplicas, targetCPUUtilizationPercentage } = (await api.get(`/apis/autoscaling/v1/${HPAS}/h`)).body.spec;
    expect([minReplicas, targetCPUUtilizationPercentage]).toEqual([1, 60]);
  });

  test("by two managers at the same time adds the fields of both to an existing object", async () => {
    await using api = await startServer();
    await apply(api, `${CONFIG_MAPS}/a?fieldManager=one`, configMap({ a: "1" }));
    const both = await api.world.run(
      Promise.all([
        api.begin("PATCH", `${CONFIG_MAPS}/a?fieldManager=two`, JSON.stringify(configMap({ b: "2" })), {
          headers: { "content-type": "application/apply-patch+yaml" },
        }),
        api.begin("PATCH", `${CONFIG_MAPS}/a?fieldManager=three`, JSON.stringify(configMap({ c: "3" })), {
          headers: { "content-type": "application/apply-patch+yaml" },
        }),
      ]),
    );
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect((await api.get(`${CONFIG_MAPS}/a`)).body.data).toEqual({ a: "1", b: "2", c: "3" });
  });

  test("by two managers at the same time creates one object with the fields of both", async () => {
    await using api = await startServer();
    const headers = { "content-type": "application/apply-patch+yaml" };
    const both = await api.world.run(
      Promise.all(
        ["b", "c"].map((key) =>
          api.begin("PATCH", `${CONFIG_MAPS}/a?fieldManager=${key}`, JSON.stringify(configMap({ [key]: "1" })), {
            headers,
          }),
        ),
      ),
    );
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 201]));
    expect((await api.get(`${CONFIG_MAPS}/a`)).body.data).toEqual({ b: "1", c: "1" });
  });
});

describe("apply", () => {
  const bodyOf = (part: Json): Json => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    ...part,
  });

  test("through the status subresource owns the status and leaves other fields unchanged", async () => {
    await using api = await startServer();
    await api.create(`${DEPLOYMENTS}?fieldManager=maker`, deployment("web"));
    const applied = await apply(
      api,
      `${DEPLOYMENTS}/web/status?fieldManager=ctrl`,
      bodyOf({ spec: { replicas: 7 }, status: { replicas: 2 } }),
    );
    expect(applied.status).toBe(200);
    expect(applied.body.spec.replicas).toBe(1);
    expect(applied.body.status.replicas).toBe(2);
    expect(owners(applied)["ctrl Apply apps/v1 status"]).toEqual({ "f:status": { "f:replicas": {} } });
  });

  test("through the status subresource of a missing object returns 404", async () => {
    await using api = await startServer();
    const missing = await apply(api, `${DEPLOYMENTS}/web/status?fieldManager=ctrl`, bodyOf({ status: {} }));
    expect(missing).toMatchObject({ status: 404, body: { message: 'deployments.apps "web" not found' } });
  });

  test("through the scale subresource owns the replicas of the workload", async () => {
    await using api = await startServer();
    await apply(api, `${DEPLOYMENTS}/web?fieldManager=one`, {
      ...bodyOf({}),
      spec: { ...deployment("web").spec, replicas: 1 },
    });
    const scale = (replicas: number): Json => ({
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "web" },
      spec: { replicas },
    });
    const conflict = await apply(api, `${DEPLOYMENTS}/web/scale?fieldManager=hpa`, scale(3));
    expect(conflict.body.message).toBe('Apply failed with 1 conflict: conflict with "one": .spec.replicas');
    const scaled = await apply(api, `${DEPLOYMENTS}/web/scale?fieldManager=hpa&force=true`, scale(3));
    expect(scaled).toMatchObject({ status: 200, body: { kind: "Scale", spec: { replicas: 3 } } });
    const after = await api.get(`${DEPLOYMENTS}/web`);
    expect(after.body.spec.replicas).toBe(3);
    expect(after.body.metadata.generation).toBe(2);
    expect(owners(after)["hpa Apply apps/v1 scale"]).toEqual({ "f:spec": { "f:replicas": {} } });
    expect(owners(after)["one Apply apps/v1"]["f:spec"]["f:replicas"]).toBeUndefined();
    const negative = await apply(api, `${DEPLOYMENTS}/web/scale?fieldManager=hpa`, scale(-1));
    expect(negative.body.message).toBe(
      'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    );
  });
});

test("an unpaired surrogate is replaced in the stored object, both by an apply and by a creation", async () => {
  await using api = await startServer();
  const body = (name: string): string =>
    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"a":"x\\ud800y"}}`;
  const applied = await api.call("PATCH", `${CONFIG_MAPS}/one?fieldManager=me`, body("one"), {
    headers: { "content-type": "application/apply-patch+yaml" },
  });
  const created = await api.call("POST", CONFIG_MAPS, body("two"), { headers: { "content-type": "application/json" } });
  expect([applied.body.data, created.body.data]).toEqual([{ a: "x\ufffdy" }, { a: "x\ufffdy" }]);
});

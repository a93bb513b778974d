import { describe, expect, test } from "vitest";
import {
  CONFIG_MAPS,
  configMap,
  deployment,
  startServer,
  type ApiTestResponse,
  type Json,
  type TestServer,
} from "./start.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const HPAS = "namespaces/default/horizontalpodautoscalers";

interface Sending {
  readonly body: Json;
  readonly agent?: string;
  readonly type?: string;
}

function send(
  api: TestServer,
  method: string,
  target: string,
  { body, agent = "kubectl/v1.36.0 (linux/amd64)", type = "application/json" }: Sending,
): Promise<ApiTestResponse> {
  return api.call(method, target, JSON.stringify(body), { headers: { "user-agent": agent, "content-type": type } });
}

/** "manager operation apiVersion subresource" of each managedFields entry. */
function managers(response: ApiTestResponse): string[] {
  return (response.body.metadata.managedFields ?? []).map((entry: Json) =>
    [entry.manager, entry.operation, entry.apiVersion, entry.subresource ?? ""].join(" ").trim(),
  );
}

function fields(answer: ApiTestResponse, manager: string): Json {
  return answer.body.metadata.managedFields.find((entry: Json) => entry.manager === manager)?.fieldsV1;
}

describe("managed fields", () => {
  test("name the creator as the manager of the sent fields, and its name is taken from the user agent", async () => {
    await using api = await startServer();
    const created = await send(api, "POST", CONFIG_MAPS, {
      body: configMap("a", { metadata: { labels: { x: "y" } } }),
    });
    expect(created.body.metadata.managedFields).toEqual([
      {
        manager: "kubectl",
        operation: "Update",
        apiVersion: "v1",
        time: created.body.metadata.creationTimestamp,
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { ".": {}, "f:a": {} }, "f:metadata": { "f:labels": { ".": {}, "f:x": {} } } },
      },
    ]);
  });

  test("use the fieldManager parameter as the manager's name instead of the user agent", async () => {
    await using api = await startServer();
    expect(managers(await send(api, "POST", `${CONFIG_MAPS}?fieldManager=me`, { body: configMap("a") }))).toEqual([
      "me Update v1",
    ]);
  });

  test("move a changed field to the manager that changes it, and leave unchanged fields with their manager", async () => {
    await using api = await startServer();
    await send(api, "POST", `${CONFIG_MAPS}?fieldManager=one`, { body: configMap("a", { data: { a: "1", b: "1" } }) });
    await api.world.advance(5_000);
    const updated = await send(api, "PUT", `${CONFIG_MAPS}/a?fieldManager=two`, {
      body: configMap("a", { data: { a: "1", b: "2", c: "3" } }),
    });
    expect(fields(updated, "one")).toEqual({ "f:data": { ".": {}, "f:a": {} } });
    expect(fields(updated, "two")).toEqual({ "f:data": { "f:b": {}, "f:c": {} } });
    const [one, two] = updated.body.metadata.managedFields;
    expect(Date.parse(two.time) - Date.parse(one.time)).toBe(5_000);
  });

  test.each([
    ["application/merge-patch+json", { data: { b: "2" } }],
    ["application/json-patch+json", [{ op: "add", path: "/data/b", value: "2" }]],
  ])("record the manager of a patch of type %s", async (type, body) => {
    await using api = await startServer();
    await send(api, "POST", `${CONFIG_MAPS}?fieldManager=one`, { body: configMap("a") });
    const patched = await send(api, "PATCH", `${CONFIG_MAPS}/a?fieldManager=two`, { body, type });
    expect(fields(patched, "two")).toEqual({ "f:data": { "f:b": {} } });
  });

  test("drop fields that are removed", async () => {
    await using api = await startServer();
    await send(api, "POST", `${CONFIG_MAPS}?fieldManager=one`, { body: configMap("a") });
    expect(
      managers(await send(api, "PUT", `${CONFIG_MAPS}/a?fieldManager=two`, { body: { metadata: { name: "a" } } })),
    ).toEqual([]);
  });

  test("have a separate entry for the status subresource, which owns nothing else", async () => {
    await using api = await startServer();
    const created = await send(api, "POST", `${DEPLOYMENTS}?fieldManager=one`, {
      body: { ...deployment("web"), status: { replicas: 9 } },
    });
    expect(JSON.stringify(fields(created, "one"))).not.toContain("f:status");
    await api.world.advance(1_000);
    const body = { ...created.body, spec: { ...created.body.spec, replicas: 7 }, status: { replicas: 1 } };
    const updated = await send(api, "PUT", `${DEPLOYMENTS}/web/status?fieldManager=controller`, { body });
    expect(managers(updated)).toEqual(["one Update apps/v1", "controller Update apps/v1 status"]);
    expect(fields(updated, "controller")).toEqual({ "f:status": { "f:replicas": {} } });
    expect(updated.body.spec.replicas).toBe(1);
  });

  test("are returned by a dry run, but not stored", async () => {
    await using api = await startServer();
    await send(api, "POST", `${CONFIG_MAPS}?fieldManager=one`, { body: configMap("a") });
    const dry = await send(api, "PATCH", `${CONFIG_MAPS}/a?fieldManager=two&dryRun=All`, {
      body: { data: { b: "2" } },
      type: "application/merge-patch+json",
    });
    expect(managers(dry)).toEqual(["one Update v1", "two Update v1"]);
    expect(managers(await api.get(`${CONFIG_MAPS}/a`))).toEqual(["one Update v1"]);
  });

  test("and resourceVersion do not change if a write changes nothing, whichever manager sends it", async () => {
    await using api = await startServer();
    const created = await send(api, "POST", `${CONFIG_MAPS}?fieldManager=one`, { body: configMap("a") });
    await api.world.advance(60_000);
    for (const manager of ["one", "two"]) {
      const again = await send(api, "PUT", `${CONFIG_MAPS}/a?fieldManager=${manager}`, { body: configMap("a") });
      expect(again.body.metadata).toEqual(created.body.metadata);
    }
  });

  test("are not added by an update if the object was stored without them", async () => {
    await using api = await startServer();
    const value = Buffer.from(
      JSON.stringify({
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: { name: "old", namespace: "default", uid: "u" },
        data: { a: "1" },
      }),
    );
    await api.kv.commit({ kind: "put", key: "/registry/configmaps/default/old", value, expectedRevision: 0 });
    const updated = await send(api, "PUT", `${CONFIG_MAPS}/old`, { body: configMap("old", { data: { a: "2" } }) });
    expect(updated.body.data).toEqual({ a: "2" });
    expect(updated.body.metadata).not.toHaveProperty("managedFields");
  });

  test.each([[[]], [[{}]]])("are cleared by writing %j", async (managedFields) => {
    await using api = await startServer();
    await send(api, "POST", CONFIG_MAPS, { body: configMap("a") });
    const cleared = await send(api, "PUT", `${CONFIG_MAPS}/a`, {
      body: configMap("a", { metadata: { managedFields } }),
    });
    expect(managers(cleared)).toEqual([]);
  });

  test("have one entry for each manager and version, and a changed field leaves an entry of another version too", async () => {
    await using api = await startServer();
    const spec = {
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 50,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    };
    await send(api, "POST", `/apis/autoscaling/v1/${HPAS}?fieldManager=one`, {
      body: { metadata: { name: "h" }, spec },
    });
    const patched = await send(api, "PATCH", `/apis/autoscaling/v2/${HPAS}/h?fieldManager=two`, {
      body: { spec: { maxReplicas: 5 } },
      type: "application/merge-patch+json",
    });
    expect(managers(patched)).toEqual(["one Update autoscaling/v1", "two Update autoscaling/v2"]);
    expect(fields(patched, "two")).toEqual({ "f:spec": { "f:maxReplicas": {} } });
    expect(fields(patched, "one")["f:spec"]).toEqual({
      "f:minReplicas": {},
      "f:scaleTargetRef": {},
      "f:targetCPUUtilizationPercentage": {},
    });
    expect((await api.get(`/apis/autoscaling/v1/${HPAS}/h`)).body.metadata.managedFields).toEqual(
      patched.body.metadata.managedFields,
    );
  });

  test("merge the oldest entries if more than ten managers write", async () => {
    await using api = await startServer();
    await send(api, "POST", `${CONFIG_MAPS}?fieldManager=m0`, { body: configMap("a", { data: { k0: "0" } }) });
    let last: ApiTestResponse | undefined;
    for (let index = 1; index < 14; index++) {
      await api.world.advance(1_000);
      last = await send(api, "PATCH", `${CONFIG_MAPS}/a?fieldManager=m${index}`, {
        body: { data: { [`k${index}`]: "1" } },
        type: "application/merge-patch+json",
      });
    }
    expect(managers(last!)).toHaveLength(10);
    expect(managers(last!)[0]).toBe("ancient-changes Update v1");
    expect(Object.keys(fields(last!, "ancient-changes")["f:data"])).toContain("f:k0");
  });

  test("of a large object add less than half of its size", async () => {
    await using api = await startServer();
    const data = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key-${index}`, "value ".repeat(10)]));
    await send(api, "POST", CONFIG_MAPS, { body: configMap("a", { data }) });
    const { items } = await api.kv.range({ start: "/registry/configmaps/default/a" });
    expect(items[0]!.value.length).toBeLessThan(1.5 * JSON.stringify(data).length);
  });
});

/** Tests of stored objects that are served in two API versions or in two API groups. */
import { describe, expect, test } from "vitest";
import { names, startServer } from "./start.ts";

const V1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
const V2 = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const autoscalerV1 = {
  apiVersion: "autoscaling/v1",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "h" },
  spec: { scaleTargetRef, maxReplicas: 5, targetCPUUtilizationPercentage: 70 },
};

describe("a horizontal pod autoscaler", () => {
  test("that is created in v1 is readable in v1 and v2, each with the fields of that version", async () => {
    await using api = await startServer();
    const created = await api.create(V1, autoscalerV1);
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ apiVersion: "autoscaling/v1", spec: { targetCPUUtilizationPercentage: 70 } });
    const v2 = await api.get(`${V2}/h`);
    expect(v2.body).toMatchObject({
      apiVersion: "autoscaling/v2",
      metadata: { uid: created.body.metadata.uid, resourceVersion: created.body.metadata.resourceVersion },
      spec: {
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } } },
        ],
      },
    });
    expect((await api.get(`${V1}/h`)).body.spec.targetCPUUtilizationPercentage).toBe(70);
  });

  test("is listed in the requested version", async () => {
    await using api = await startServer();
    await api.create(V1, autoscalerV1);
    const v1 = await api.get(V1);
    const v2 = await api.get(V2);
    expect(v1.body).toMatchObject({
      apiVersion: "autoscaling/v1",
      items: [{ spec: { targetCPUUtilizationPercentage: 70 } }],
    });
    expect(v2.body).toMatchObject({
      apiVersion: "autoscaling/v2",
      items: [{ spec: { metrics: [{ type: "Resource" }] } }],
    });
  });

  test("that is changed through v2 changes in v1 too, and each watch sends the change in the version of the watch", async () => {
    await using api = await startServer();
    const { body } = await api.create(V1, autoscalerV1);
    const watches = await Promise.all(
      [V1, V2].map((path) => api.watch(`${path}?watch=true&resourceVersion=${body.metadata.resourceVersion}`)),
    );
    await api.jsonPatch(`${V2}/h`, [
      { op: "replace", path: "/spec/metrics/0/resource/target/averageUtilization", value: 50 },
    ]);
    await api.delete(`${V1}/h`);
    const [v1, v2] = await Promise.all(watches.map((watch) => watch.events()));
    expect(
      v1!.map(({ type, object }) => [type, object.apiVersion, object.spec.targetCPUUtilizationPercentage]),
    ).toEqual([
      ["MODIFIED", "autoscaling/v1", 50],
      ["DELETED", "autoscaling/v1", 50],
    ]);
    expect(
      v2!.map(({ type, object }) => [
        type,
        object.apiVersion,
        object.spec.metrics[0].resource.target.averageUtilization,
      ]),
    ).toEqual([
      ["MODIFIED", "autoscaling/v2", 50],
      ["DELETED", "autoscaling/v2", 50],
    ]);
  });

  test("keeps fields that only v2 has after an update through v1", async () => {
    await using api = await startServer();
    const behavior = { scaleDown: { stabilizationWindowSeconds: 17 } };
    await api.create(V2, { metadata: { name: "h" }, spec: { scaleTargetRef, maxReplicas: 5, behavior } });
    const { body } = await api.get(`${V1}/h`);
    expect((await api.put(`${V1}/h`, { ...body, spec: { ...body.spec, maxReplicas: 6 } })).status).toBe(200);
    expect((await api.get(`${V2}/h`)).body.spec).toMatchObject({
      maxReplicas: 6,
      behavior: { scaleDown: { stabilizationWindowSeconds: 17 } },
    });
  });

  test("in one version is rejected as the body of a request for the other version", async () => {
    await using api = await startServer();
    expect((await api.create(V2, autoscalerV1)).status).toBe(400);
  });
});

const CORE = "/api/v1/namespaces/default/events";
const NEW = "/apis/events.k8s.io/v1/namespaces/default/events";
const coreEvent = {
  metadata: { name: "e" },
  involvedObject: { kind: "Pod", namespace: "default", name: "p" },
  reason: "Started",
  message: "it runs",
  type: "Normal",
  reportingComponent: "kubelet",
  source: { component: "kubelet" },
};

describe("an event in the core group and in events.k8s.io", () => {
  test("that is created in one group is readable in the other group with the field names of that group", async () => {
    await using api = await startServer();
    const { status, body } = await api.create(CORE, coreEvent);
    expect(status).toBe(201);
    const read = await api.get(`${NEW}/e`);
    expect(read.body).toMatchObject({
      kind: "Event",
      apiVersion: "events.k8s.io/v1",
      metadata: { uid: body.metadata.uid },
      regarding: { kind: "Pod", name: "p" },
      note: "it runs",
      reportingController: "kubelet",
      deprecatedSource: { component: "kubelet" },
    });
    expect(read.body).not.toHaveProperty("involvedObject");
    expect((await api.get(CORE)).body.items[0]).toMatchObject({ involvedObject: { name: "p" }, message: "it runs" });
    expect((await api.get(NEW)).body.items[0]).toMatchObject({ regarding: { name: "p" }, note: "it runs" });
  });

  test("is selected in each group by the field names of that group", async () => {
    await using api = await startServer();
    await api.create(CORE, coreEvent);
    await api.create(CORE, {
      ...coreEvent,
      metadata: { name: "f" },
      involvedObject: { kind: "Node", name: "n", namespace: "default" },
      reason: "Stopped",
      source: { component: "scheduler" },
      reportingComponent: "scheduler",
    });
    const select = async (path: string, selector: string): Promise<string[]> =>
      names(await api.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`));
    expect(await select(CORE, "involvedObject.kind=Pod")).toEqual(["e"]);
    expect(await select(CORE, "reason=Stopped")).toEqual(["f"]);
    expect(await select(CORE, "source=kubelet")).toEqual(["e"]);
    expect(await select(CORE, "reportingComponent=scheduler")).toEqual(["f"]);
    expect(await select(NEW, "regarding.kind=Node")).toEqual(["f"]);
    expect(await select(NEW, "reportingController=kubelet")).toEqual(["e"]);
    expect((await api.get(`${CORE}?fieldSelector=regarding.kind%3DPod`)).status).toBe(400);
    expect((await api.get(`${NEW}?fieldSelector=involvedObject.kind%3DPod`)).status).toBe(400);
  });

  test("is sent to watches of both groups in the format of each group, if it matches the selector of the watch", async () => {
    await using api = await startServer();
    const core = await api.watch(`${CORE}?watch=true&fieldSelector=involvedObject.kind%3DPod`);
    const other = await api.watch(`${NEW}?watch=true&fieldSelector=regarding.kind%3DPod`);
    await api.create(CORE, coreEvent);
    await api.create(CORE, {
      ...coreEvent,
      metadata: { name: "f" },
      involvedObject: { kind: "Node", name: "n", namespace: "default" },
    });
    await api.delete(`${NEW}/e`);
    const shapes = async (watch: typeof core): Promise<unknown[]> =>
      (await watch.events()).map(({ type, object }) => [
        type,
        object.apiVersion,
        object.involvedObject?.name ?? object.regarding?.name,
      ]);
    expect(await shapes(core)).toEqual([
      ["ADDED", "v1", "p"],
      ["DELETED", "v1", "p"],
    ]);
    expect(await shapes(other)).toEqual([
      ["ADDED", "events.k8s.io/v1", "p"],
      ["DELETED", "events.k8s.io/v1", "p"],
    ]);
  });

  test("that does not exist returns a 404 message with the requested group", async () => {
    await using api = await startServer();
    expect((await api.get(`${NEW}/nosuch`)).body.message).toBe('events.events.k8s.io "nosuch" not found');
    expect((await api.get(`${CORE}/nosuch`)).body.message).toBe('events "nosuch" not found');
  });

  test("expires after an hour, and watches receive DELETED", async () => {
    await using api = await startServer({ compactionIntervalMs: 0 });
    await api.create(CORE, coreEvent);
    const watch = await api.watch(`${CORE}?watch=true&timeoutSeconds=10000`);
    await api.world.advance(59 * 60_000);
    expect((await api.get(`${CORE}/e`)).status).toBe(200);
    await api.world.advance(5 * 60_000);
    expect((await api.get(`${CORE}/e`)).status).toBe(404);
    expect(await watch.story()).toEqual(["ADDED e", "DELETED e"]);
  });

  test("that is written again is kept for longer than an hour after its creation", async () => {
    await using api = await startServer({ compactionIntervalMs: 0 });
    await api.create(CORE, coreEvent);
    await api.world.advance(50 * 60_000);
    await api.mergePatch(`${CORE}/e`, { count: 2 });
    await api.world.advance(50 * 60_000);
    expect((await api.get(`${CORE}/e`)).status).toBe(200);
  });
});

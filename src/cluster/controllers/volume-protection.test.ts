import { expect, test } from "vitest";
import { pod, PODS, startServer, type Json, type TestServer } from "../../../test/api/start.ts";
import { SILENT_LOG } from "../../base/log.ts";
import { CONTROLLERS } from "./controller-names.ts";
import { clientOf, RunningController } from "../../../test/testing/cluster/controllers/namespace/running-controller.ts";
import { createVolumeProtection } from "./volume-protection.ts";

const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const VOLUMES = "/api/v1/persistentvolumes";
const CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses";

function start(): Promise<TestServer> {
  return startServer({ controllers: CONTROLLERS.map((name) => `-${name}`) });
}

function run(api: TestServer): AsyncDisposableStack {
  const client = clientOf(api);
  const stack = new AsyncDisposableStack();
  for (const spec of createVolumeProtection({ client, metadata: client, log: SILENT_LOG, hasAttributesClasses: true }))
    stack.use(new RunningController(api, spec));
  return stack;
}

function claim(name: string, spec: Json = {}): Json {
  const resources = { requests: { storage: "1Gi" } };
  return { metadata: { name }, spec: { accessModes: ["ReadWriteOnce"], resources, ...spec } };
}

function volume(name: string): Json {
  const source = { hostPath: { path: "/data" } };
  return { metadata: { name }, spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], ...source } };
}

async function statusOf(api: TestServer, path: string): Promise<number> {
  await api.world.advance(6_000);
  return (await api.get(path)).status;
}

test("an unused claim has its finalizer removed when it is deleted, and not before", async () => {
  await using api = await start();
  await using _ = run(api);
  const { body } = await api.create(CLAIMS, claim("data"));
  expect(body.metadata.finalizers).toEqual(["kubernetes.io/pvc-protection"]);
  expect(await statusOf(api, `${CLAIMS}/data`)).toBe(200);
  await api.delete(`${CLAIMS}/data`);
  expect(await statusOf(api, `${CLAIMS}/data`)).toBe(404);
});

test("a deleted claim stays while a pod that is assigned to a node uses it; a pod without a node does not count", async () => {
  await using api = await start();
  await using _ = run(api);
  for (const name of ["used", "wanted"]) await api.create(CLAIMS, claim(name));
  const using = (name: string, claimName: string, more: Json): Json => {
    const base = pod(name);
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName } }];
    return { ...base, spec: { ...base.spec, volumes, ...more } };
  };
  expect((await api.create(PODS, using("runs", "used", { nodeName: "n" }))).status).toBe(201);
  expect((await api.create(PODS, using("waits", "wanted", {}))).status).toBe(201);
  for (const name of ["used", "wanted"]) await api.delete(`${CLAIMS}/${name}`);
  expect(await statusOf(api, `${CLAIMS}/used`)).toBe(200);
  expect(await statusOf(api, `${CLAIMS}/wanted`)).toBe(404);
  await api.delete(`${PODS}/runs?gracePeriodSeconds=0`);
  expect(await statusOf(api, `${CLAIMS}/used`)).toBe(404);
});

test("a deleted volume stays while it is bound", async () => {
  await using api = await start();
  await using _ = run(api);
  await api.create(VOLUMES, volume("v"));
  await api.mergePatch(`${VOLUMES}/v/status`, { status: { phase: "Bound" } });
  await api.delete(`${VOLUMES}/v`);
  expect(await statusOf(api, `${VOLUMES}/v`)).toBe(200);
  await api.mergePatch(`${VOLUMES}/v/status`, { status: { phase: "Released" } });
  expect(await statusOf(api, `${VOLUMES}/v`)).toBe(404);
});

test("a deleted VolumeAttributesClass stays while a claim references it, and only our finalizer is removed", async () => {
  await using api = await start();
  await using _ = run(api);
  const fast = { metadata: { name: "fast", finalizers: ["a.io/b"] }, driverName: "d.io", parameters: { iops: "1" } };
  expect((await api.create(CLASSES, fast)).status).toBe(201);
  expect((await api.create(CLAIMS, claim("c", { volumeAttributesClassName: "fast" }))).status).toBe(201);
  await api.delete(`${CLASSES}/fast`);
  await api.world.advance(6_000);
  expect((await api.get(`${CLASSES}/fast`)).body.metadata.finalizers).toHaveLength(2);
  await api.delete(`${CLAIMS}/c`);
  await api.world.advance(12_000);
  expect((await api.get(`${CLASSES}/fast`)).body.metadata.finalizers).toEqual(["a.io/b"]);
});

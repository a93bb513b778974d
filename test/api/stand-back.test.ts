/** Tests of --controllers=auto beside a kube-controller-manager, of which only its leader lease matters. */
import { expect, test } from "vitest";
import { KUBE_CONTROLLER_MANAGER_CONTROLLERS } from "../../src/cluster/controllers/controller-names.ts";
import { startServer, type TestServer } from "./start.ts";

const STATUS = "/evenkeel/v1/status";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const LEASE = `${LEASES}/kube-controller-manager`;
const RENEW_MS = 2_000;

async function renew(api: TestServer, holderIdentity: string, times: number): Promise<void> {
  for (let renewal = 0; renewal < times; renewal++) {
    const spec = { holderIdentity, leaseTransitions: renewal };
    expect((await api.mergePatch(LEASE, { spec })).status).toBe(200);
    await api.world.advance(RENEW_MS);
  }
}

async function startBeside(controllers: readonly string[]): Promise<TestServer> {
  const api = await startServer({ controllers });
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "kube-controller-manager" } };
  await api.create(LEASES, lease);
  await renew(api, "host_1", 3);
  return api;
}

async function hasAccount(api: TestServer, namespace: string): Promise<boolean> {
  return (await api.get(`/api/v1/namespaces/${namespace}/serviceaccounts/default`)).status === 200;
}

test("controllers stand back while kube-controller-manager renews its lease, and take over 60 s after the last renewal", async () => {
  await using api = await startBeside(["auto"]);
  expect((await api.get(STATUS)).body.heldByKubeControllerManager).toEqual({
    holder: "host_1",
    controllers: KUBE_CONTROLLER_MANAGER_CONTROLLERS,
  });
  await api.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "new" } });
  await renew(api, "host_1", 60);
  expect(await hasAccount(api, "new")).toBe(false);
  await api.world.advance(60_000 - RENEW_MS - 500);
  expect(await hasAccount(api, "new")).toBe(false);
  await api.world.advance(3_000);
  expect(await hasAccount(api, "new")).toBe(true);
  expect((await api.get(STATUS)).body.heldByKubeControllerManager).toBeNull();
});

test("controllers take over at once when kube-controller-manager releases its lease, and stand back when it returns", async () => {
  await using api = await startBeside(["auto"]);
  await renew(api, "", 1);
  await api.world.advance(3_000);
  await api.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "new" } });
  await api.world.advance(1_000);
  expect(await hasAccount(api, "new")).toBe(true);
  await renew(api, "host_2", 3);
  await api.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "newer" } });
  await renew(api, "host_2", 3);
  expect(await hasAccount(api, "newer")).toBe(false);
});

test("the status lists no controller as standing back that the flag disables or names", async () => {
  await using api = await startBeside(["auto,-namespace-controller,serviceaccount-controller"]);
  const { controllers } = (await api.get(STATUS)).body.heldByKubeControllerManager;
  expect(controllers).toHaveLength(KUBE_CONTROLLER_MANAGER_CONTROLLERS.length - 2);
  expect(controllers).not.toContain("namespace-controller");
  expect(controllers).not.toContain("serviceaccount-controller");
});

test("the status names no holder if every controller runs", async () => {
  await using api = await startBeside(["*"]);
  expect((await api.get(STATUS)).body.heldByKubeControllerManager).toBeNull();
});

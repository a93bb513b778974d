import { expect, test } from "vitest";
import { startServer, type TestServer } from "../../../test/api/start.ts";
import { SILENT_LOG } from "../../base/log.ts";
import { CONTROLLERS } from "./controller-names.ts";
import { clientOf, RunningController } from "../../../test/testing/cluster/controllers/namespace/running-controller.ts";
import { createServiceAccountController } from "./service-account.ts";

const NAMESPACES = "/api/v1/namespaces";
const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });

function start(): Promise<TestServer> {
  return startServer({ controllers: CONTROLLERS.map((name) => `-${name}`) });
}

function run(api: TestServer): RunningController {
  return new RunningController(api, createServiceAccountController({ client: clientOf(api), log: SILENT_LOG }));
}

async function accounts(api: TestServer): Promise<string[]> {
  await api.world.advance(1_000);
  const { body } = await api.get("/api/v1/serviceaccounts");
  return body.items.map(({ metadata }: { metadata: { name: string; namespace: string } }) => {
    return `${metadata.namespace}/${metadata.name}`;
  });
}

test("every namespace gets a default service account, also one that is created later", async () => {
  await using api = await start();
  await using running = run(api);
  const first = ["default/default", "kube-node-lease/default", "kube-public/default", "kube-system/default"];
  expect(await accounts(api)).toEqual(first);
  await api.create(NAMESPACES, namespace("team"));
  expect(await accounts(api)).toEqual([...first, "team/default"]);
  expect(running.outcomes).not.toContain("error");
});

test("a default service account that is deleted is created again, once its finalizers are removed", async () => {
  await using api = await start();
  await using running = run(api);
  await accounts(api);
  const path = `${NAMESPACES}/default/serviceaccounts/default`;
  const { uid } = (await api.get(path)).body.metadata;
  await api.mergePatch(path, { metadata: { finalizers: ["example.com/hold"] } });
  await api.delete(path);
  await accounts(api);
  expect((await api.get(path)).body.metadata.uid).toBe(uid);
  await api.mergePatch(path, { metadata: { finalizers: null } });
  expect(await accounts(api)).toContain("default/default");
  expect((await api.get(path)).body.metadata.uid).not.toBe(uid);
  expect(running.outcomes).not.toContain("error");
});

test("a namespace that is being deleted gets no default service account", async () => {
  await using api = await start();
  await api.create(NAMESPACES, namespace("team"));
  await api.delete(`${NAMESPACES}/team`);
  await using running = run(api);
  expect(await accounts(api)).not.toContain("team/default");
  expect(running.outcomes).not.toContain("error");
});

test("an existing default service account is not changed", async () => {
  await using api = await start();
  const path = `${NAMESPACES}/default/serviceaccounts`;
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", labels: { mine: "yes" } } };
  const { body } = await api.create(path, account);
  await using running = run(api);
  await accounts(api);
  expect((await api.get(`${path}/default`)).body).toEqual(body);
  expect(running.outcomes).not.toContain("error");
});

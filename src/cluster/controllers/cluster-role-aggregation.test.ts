import { expect, test } from "vitest";
import { startServer, type TestServer } from "../../../test/api/start.ts";
import { SILENT_LOG } from "../../base/log.ts";
import type { JsonObject } from "../../meta/json.ts";
import { CONTROLLERS } from "./controller-names.ts";
import { createClusterRoleAggregationController } from "./cluster-role-aggregation.ts";
import { clientOf, RunningController } from "../../../test/testing/cluster/controllers/namespace/running-controller.ts";

const ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

function start(): Promise<TestServer> {
  return startServer({ controllers: CONTROLLERS.map((name) => `-${name}`) });
}

function run(api: TestServer): RunningController {
  return new RunningController(api, createClusterRoleAggregationController({ client: clientOf(api), log: SILENT_LOG }));
}

function role(name: string, spec: JsonObject, labels: JsonObject = {}): JsonObject {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name, labels }, ...spec };
}

const reads = (...resources: string[]): JsonObject => ({
  rules: resources.map((resource) => ({ verbs: ["get"], apiGroups: [""], resources: [resource] })),
});

const gathers = (...clusterRoleSelectors: JsonObject[]): JsonObject => ({ aggregationRule: { clusterRoleSelectors } });

async function resourcesOf(api: TestServer, name: string): Promise<unknown[]> {
  await api.world.advance(1_000);
  const { body } = await api.get(`${ROLES}/${name}`);
  return (body.rules ?? []).flatMap(({ resources }: { resources: string[] }) => resources);
}

test("the rules of selected roles are aggregated in the order of the role names, each rule once, also through another aggregated role", async () => {
  await using api = await start();
  await using running = run(api);
  await api.create(ROLES, role("top", gathers({ matchLabels: { to: "top" } })));
  await api.create(ROLES, role("middle", gathers({ matchLabels: { to: "middle" } }), { to: "top" }));
  await api.create(ROLES, role("b", reads("pods", "secrets"), { to: "middle" }));
  await api.create(ROLES, role("a", reads("secrets", "nodes"), { to: "middle" }));
  expect(await resourcesOf(api, "top")).toEqual(["secrets", "nodes", "pods"]);
  const { body } = await api.get(`${ROLES}/top`);
  const managers = body.metadata.managedFields.map(({ manager, operation }: JsonObject) => [manager, operation]);
  expect(managers).toContainEqual(["clusterrole-aggregation-controller", "Apply"]);
  expect(running.outcomes).not.toContain("error");
});

test("an aggregated role is updated when a selected role changes its rules, loses its label or is deleted", async () => {
  await using api = await start();
  await using running = run(api);
  const expression = { key: "to", operator: "In", values: ["top"] };
  await api.create(ROLES, role("top", gathers({ matchExpressions: [expression] })));
  await api.create(ROLES, role("a", reads("pods"), { to: "top" }));
  await api.create(ROLES, role("b", reads("nodes"), { to: "top" }));
  await api.create(ROLES, role("c", reads("events"), { to: "top" }));
  expect(await resourcesOf(api, "top")).toEqual(["pods", "nodes", "events"]);
  await api.mergePatch(`${ROLES}/a`, reads("services"));
  await api.mergePatch(`${ROLES}/b`, { metadata: { labels: { to: null } } });
  await api.delete(`${ROLES}/c`);
  expect(await resourcesOf(api, "top")).toEqual(["services"]);
  await api.delete(`${ROLES}/a`);
  expect(await resourcesOf(api, "top")).toEqual([]);
  expect(running.outcomes).not.toContain("error");
});

test("a role whose rules are correct is not written, and roles without an aggregation rule are not touched", async () => {
  await using api = await start();
  await using running = run(api);
  await api.create(ROLES, role("top", gathers({ matchLabels: { to: "top" } })));
  await api.create(ROLES, role("a", reads("pods"), { to: "top" }));
  expect(await resourcesOf(api, "top")).toEqual(["pods"]);
  const { resourceVersion } = (await api.get(`${ROLES}/top`)).body.metadata;
  await api.create(ROLES, role("other", reads("nodes")));
  expect(await resourcesOf(api, "other")).toEqual(["nodes"]);
  expect((await api.get(`${ROLES}/top`)).body.metadata.resourceVersion).toBe(resourceVersion);
  expect(running.outcomes).not.toContain("error");
});

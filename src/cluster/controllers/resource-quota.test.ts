import { expect, test } from "vitest";
import { pod, PODS, startServer, type Json, type TestServer } from "../../../test/api/start.ts";
import { createQuotaCalculator } from "../../access/admission/plugins/quota/recalculate.ts";
import { SILENT_LOG } from "../../base/log.ts";
import { CONTROLLERS } from "./controller-names.ts";
import { clientOf, RunningController } from "../../../test/testing/cluster/controllers/namespace/running-controller.ts";
import { createResourceQuotaController } from "./resource-quota.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";

const QUOTAS = "/api/v1/namespaces/default/resourcequotas";
const SERVED = ["pods", "configmaps"].map((resource) => ({
  group: "",
  resource,
  kind: resource,
  namespaced: true,
  versions: ["v1"],
  verbs: new Set(["list"]),
}));

async function start(): Promise<TestServer> {
  return startServer({ controllers: CONTROLLERS.map((name) => `-${name}`) });
}

function run(api: TestServer): RunningController {
  const client = clientOf(api);
  const { clock } = api.world.env;
  const spec = createResourceQuotaController({
    client,
    metadata: client,
    clock,
    log: SILENT_LOG,
    resources: { served: () => SERVED },
    calculation: createQuotaCalculator({ gates: gatesOf("1.36"), now: () => clock.now() }),
  });
  return new RunningController(api, spec);
}

async function usedAfter(api: TestServer, ms: number): Promise<Json> {
  await api.world.advance(ms);
  return (await api.get(`${QUOTAS}/q`)).body.status;
}

test("a quota reports its usage after it was created, after an object was deleted, and after a resource was removed from its spec", async () => {
  await using api = await start();
  await using _ = run(api);
  await api.create(PODS, pod("a"));
  const hard = { pods: "4", configmaps: "9", "count/things.example.com": "1" };
  await api.create(QUOTAS, { metadata: { name: "q" }, spec: { hard } });
  expect(await usedAfter(api, 1_000)).toEqual({ hard, used: { pods: "1", configmaps: "0" } });
  await api.create(PODS, pod("b"));
  expect(await usedAfter(api, 7_000)).toMatchObject({ used: { pods: "2" } });
  await api.delete(`${PODS}/a?gracePeriodSeconds=0`);
  expect(await usedAfter(api, 7_000)).toMatchObject({ used: { pods: "1" } });
  await api.mergePatch(`${QUOTAS}/q`, { spec: { hard: { configmaps: null } } });
  const { configmaps: _configmaps, ...left } = hard;
  expect(await usedAfter(api, 7_000)).toEqual({ hard: left, used: { pods: "1" } });
});

/**
 * Tests of the garbage collector in a cluster of two servers of different releases. Only one of them serves the owner's
 * resource, and this server stops and starts.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { assert } from "../../src/base/assert.ts";
import { ManualResources } from "../testing/cluster/controllers/garbage-collector/manual-resources.ts";
import { RunningCollector } from "../testing/cluster/controllers/garbage-collector/running-collector.ts";
import { mergeSources } from "../../src/serving/discovery/merge.ts";
import { resourcesOf } from "../../src/cluster/controllers/merge-cluster-resources.ts";
import { simulate, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import type { ClusterResource, Doubt } from "../../src/cluster/controllers/cluster-resources.ts";
import type { Json } from "./start.ts";

const CLASSES = "/apis/resource.k8s.io/v1/deviceclasses";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const DEPARTED: Doubt = {
  ...{ group: "resource.k8s.io", resource: "deviceclasses", namespaced: false },
  ...{ server: "server-2", because: "left a while ago" },
};

let cluster: SimulatedCluster;
let older: SimulatedServer;
let newer: SimulatedServer;
let resources: ManualResources;
let collector: RunningCollector;

function served(...servers: SimulatedServer[]): ClusterResource[] {
  const sources = servers.map(({ id, run }) => ({
    ...{ serverId: id, release: run!.release, isReachable: true, groups: run!.groups, documentKey: id },
  }));
  return resourcesOf(mergeSources(sources));
}

function collect(): RunningCollector {
  return new RunningCollector({ world: cluster.world, transport: older.run!.server.transport, resources });
}

/** Replaces the collector by a new one without its state, as after the election of a new leader. */
async function changeLeader(): Promise<void> {
  await collector.stop();
  collector = collect();
}

async function call(method: string, target: string, body?: Json): Promise<{ status: number; body: Json }> {
  const asked = older.run!.server.call({ method, target, ...(body === undefined ? {} : { body }) });
  const response = await cluster.world.run(asked);
  const text = await cluster.world.run(response.text());
  return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : undefined };
}

async function hasChild(): Promise<boolean> {
  return (await call("GET", `${CONFIG_MAPS}/child`)).status === 200;
}

beforeEach(async () => {
  cluster = simulate({ seed: 1 });
  older = await cluster.addServer({ release: "1.33" });
  newer = await cluster.addServer({ release: "1.34" });
  await cluster.settle();
  resources = new ManualResources(served(older, newer));
  collector = collect();
  const owner = await call("POST", CLASSES, {
    ...{ apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name: "owner" }, spec: {} },
  });
  assert(owner.status === 201, "the owner exists");
  const ownerReferences = [
    { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", name: "owner", uid: owner.body.metadata.uid },
  ];
  const metadata = { name: "child", ownerReferences };
  const child = await call("POST", CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata });
  assert(child.status === 201, "its dependent exists");
  await cluster.advance({ seconds: 5 });
});

afterEach(async () => {
  await collector.stop();
  cluster.shutDown();
});

test("dependents of an existing owner are kept while no server serves the owner's resource, however long that is", async () => {
  await cluster.stop(newer);
  await cluster.advance({ seconds: 60 });
  await changeLeader();
  await cluster.advance({ seconds: 60 });
  expect(await hasChild()).toBe(true);
  expect(collector.metric('evenkeel_garbage_collector_attempts_waiting_total{reason="unavailable"}')).toBeGreaterThan(
    0,
  );
  expect(collector.logged.some((line) => line.includes("deviceclasses"))).toBe(true);

  resources.change({ served: served(older), doubts: [DEPARTED] });
  await cluster.advance({ seconds: 60 });
  await changeLeader();
  await cluster.advance({ seconds: 60 });
  expect(await hasChild()).toBe(true);
  expect(collector.metric('evenkeel_garbage_collector_attempts_waiting_total{reason="doubt"}')).toBeGreaterThan(0);

  await cluster.advance({ seconds: 12 * 60 });
  expect((await call("GET", `${CLASSES}/owner`)).status).toBe(404);
  resources.change({ doubts: [] });
  await cluster.advance({ seconds: 60 });
  expect(await hasChild()).toBe(true);

  await cluster.restart(newer, { release: "1.34" });
  await cluster.settle();
  resources.change({ served: served(older, newer) });
  await cluster.advance({ seconds: 60 });
  expect(await hasChild()).toBe(true);
  expect((await call("DELETE", `${CLASSES}/owner`)).status).toBe(200);
  await cluster.advance({ seconds: 60 });
  expect(await hasChild()).toBe(false);
});

test("dependents of an owner whose deletion the collector did not see are deleted when the owner's resource is served again", async () => {
  cluster.partition(newer, older);
  await cluster.advance({ seconds: 10 });
  const { server } = newer.run!;
  const deleted = await cluster.world.run(server.call({ method: "DELETE", target: `${CLASSES}/owner` }));
  expect(deleted.status).toBe(200);
  await cluster.stop(newer);
  await cluster.advance({ seconds: 60 });
  expect(await hasChild()).toBe(true);
  await cluster.restart(newer, { release: "1.34" });
  await cluster.settle();
  resources.change({});
  await cluster.advance({ seconds: 10 });
  expect(await hasChild()).toBe(false);
});

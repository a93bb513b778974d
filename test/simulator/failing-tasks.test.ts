/** Tests of servers whose background tasks fail: every task is restarted, and the cluster works as before. */
import { describe, expect, test } from "vitest";
import { get } from "./get.ts";
import { simulate, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";

const CLASSES = "/apis/resource.k8s.io/v1/deviceclasses";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/** Tasks that have ended before the fault: they run only during the start of a server. */
const AT_START = ["start-up", "readiness", "unreadable-objects"];

async function post(cluster: SimulatedCluster, server: SimulatedServer, target: string, body: object): Promise<number> {
  const sending = server.request({ method: "POST", target, body: JSON.stringify(body) });
  return (await cluster.world.run(sending, 60_000)).status;
}

function crd(plural: string): object {
  const names = { plural, singular: plural, kind: "Widget", listKind: "WidgetList" };
  const schema = { openAPIV3Schema: { type: "object" } };
  const versions = [{ name: "v1", served: true, storage: true, schema }];
  const spec = { group: `${plural}.example.com`, scope: "Cluster", names, versions };
  const metadata = { name: `${plural}.${plural}.example.com` };
  return { kind: "CustomResourceDefinition", apiVersion: "apiextensions.k8s.io/v1", metadata, spec };
}

async function metric(cluster: SimulatedCluster, server: SimulatedServer, task: string): Promise<number> {
  const { text } = await get(cluster, server, "/metrics");
  const series = `evenkeel_background_task_restarts_total{task="${task}"} `;
  const line = text.split("\n").find((candidate) => candidate.startsWith(series));
  return Number(line?.slice(series.length) ?? 0);
}

async function mixedPair(): Promise<{ cluster: SimulatedCluster; older: SimulatedServer; newer: SimulatedServer }> {
  const cluster = simulate({ seed: 1 });
  const older = await cluster.addServer({ release: "1.33" });
  const newer = await cluster.addServer({ release: "1.34" });
  await cluster.settle();
  return { cluster, older, newer };
}

/** Checks every service that depends on background tasks: readiness, routing, agreement, CRDs and controllers. */
async function expectHealthy(
  { cluster, older, newer }: Awaited<ReturnType<typeof mixedPair>>,
  round: string,
): Promise<void> {
  for (const server of [older, newer]) {
    expect((await get(cluster, server, "/readyz")).text, round).toBe("ok");
    expect(server.run?.server.view(), round).toMatchObject({ isSynced: true, peers: [{ isDescribed: true }] });
    expect((await get(cluster, server, CLASSES)).status, round).toBe(200);
    const name = `${round}-${server.id}`;
    const metadata = { name };
    expect(await post(cluster, server, CONFIG_MAPS, { kind: "ConfigMap", apiVersion: "v1", metadata }), round).toBe(
      201,
    );
    const plural = `w${name.replaceAll("-", "")}`;
    expect(await post(cluster, server, CRDS, crd(plural)), round).toBe(201);
    await cluster.advance({ seconds: 1 });
    for (const other of [older, newer])
      expect((await get(cluster, other, `/apis/${plural}.example.com/v1/${plural}`)).status, round).toBe(200);
    expect(await post(cluster, server, "/api/v1/namespaces", { kind: "Namespace", apiVersion: "v1", metadata })).toBe(
      201,
    );
    const deletion = server.request({ method: "DELETE", target: `/api/v1/namespaces/${name}` });
    expect((await cluster.world.run(deletion, 60_000)).status).toBe(200);
  }
  await cluster.advance({ seconds: 40 });
  const { text } = await get(cluster, older, "/api/v1/namespaces");
  expect(text, round).not.toContain(`"name":"${round}-`);
}

describe("a cluster whose background tasks fail", () => {
  test("is healthy again after every task of a server has failed, one after the other", async () => {
    const pair = await mixedPair();
    const { cluster, newer } = pair;
    const names = newer.run!.tasks.names.filter((name) => !AT_START.includes(name));
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) {
      expect(newer.failTask(name), name).toBe(true);
      await cluster.advance({ seconds: 3 });
    }
    await cluster.advance({ seconds: 30 });
    for (const name of names) expect(await metric(cluster, newer, name), name).toBeGreaterThanOrEqual(1);
    await expectHealthy(pair, "one");
    cluster.shutDown();
  });

  test("is healthy again after all tasks of all servers have failed at the same time, twice", async () => {
    const pair = await mixedPair();
    const { cluster, older, newer } = pair;
    for (let round = 0; round < 2; round++) {
      for (const server of [older, newer])
        for (const name of server.run!.tasks.names) if (!AT_START.includes(name)) server.failTask(name);
      await cluster.advance({ seconds: 5 });
    }
    await cluster.advance({ seconds: 60 });
    await expectHealthy(pair, "all");
    cluster.shutDown();
  });

  test("stops gracefully after every task has failed, without a restart during the shutdown", async () => {
    const { cluster, older, newer } = await mixedPair();
    for (const name of newer.run!.tasks.names) if (!AT_START.includes(name)) newer.failTask(name);
    await cluster.advance({ seconds: 30 });
    const { run } = newer;
    const failures = (): number => cluster.trace.lines.filter((line) => line.includes("background task failed")).length;
    const before = failures();
    expect(before).toBeGreaterThan(20);
    await cluster.stop(newer);
    expect(failures()).toBe(before);
    expect(run!.host.state).toBe("dead");
    await cluster.advance({ seconds: 2 });
    expect(older.run!.server.view().peers).toEqual([]);
    cluster.shutDown();
  });
});

test("a server of which a task keeps failing is not ready, and /readyz names the task until it works again", async () => {
  const cluster = simulate({ seed: 1 });
  const server = await cluster.addServer({ release: "1.34" });
  for (let failure = 0; failure < 3; failure++) {
    expect(server.failTask("flow-schema-status")).toBe(true);
    await cluster.advance({ seconds: failure === 2 ? 0 : 5 });
  }
  const ready = await get(cluster, server, "/readyz");
  expect(ready.status).toBe(500);
  expect(ready.text).toContain("[-]background-task/flow-schema-status failed: reason withheld");
  const reason = await get(cluster, server, "/readyz/background-task/flow-schema-status");
  expect(reason.text).toContain("it has failed 3 times in a row");
  expect((await get(cluster, server, "/livez")).status).toBe(200);
  await cluster.advance({ seconds: 70 });
  expect((await get(cluster, server, "/readyz")).text).toBe("ok");
  cluster.shutDown();
});

test("a server whose start-up fails ends, and says which hook failed", async () => {
  const wrapKv = (kv: Kv): Kv =>
    overlaidKv(kv, {
      commit: (change) =>
        change.key.startsWith("/registry/evenkeel/served/") ? Promise.reject(new Error("broken")) : kv.commit(change),
    });
  const cluster = simulate({ seed: 1, plant: { wrapKv } });
  const server = cluster.place();
  const { host } = await server.start({ release: "1.34" });
  await cluster.advance({ seconds: 5 });
  expect(host.state).toBe("dead");
  expect(server.run).toBeUndefined();
  const last = cluster.trace.lines.filter((line) => line.includes("ends because"));
  expect(last).toHaveLength(1);
  expect(last[0]).toContain(
    "ends because start-up failed: the hook poststarthook/local-discovery-cache-sync failed: broken",
  );
});

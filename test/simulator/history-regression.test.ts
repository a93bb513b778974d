/** Restores the store of a simulated cluster from a backup while its servers run. */
import { expect, test } from "vitest";
import type { InProcessResponse } from "../../src/client/in-process.ts";
import { simulate, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import { STORE_IS_FINE } from "../../src/tools/simulator/store-link.ts";
import { StorageError, type Kv, type LeaseId } from "../../src/storage/kv.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import { STORAGE_VERSIONS } from "./encoding-record.ts";
import { get } from "./get.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const STORE_IS_DOWN = { ...STORE_IS_FINE, isDown: true };
/** Longer than the recovery of a server takes. */
const RECOVERED_SECONDS = 30;

async function threeServers(): Promise<SimulatedCluster> {
  const cluster = simulate({ seed: 7 });
  for (const release of ["1.34", "1.35", "1.36"]) await cluster.addServer({ release });
  await cluster.settle();
  return cluster;
}

async function write(
  cluster: SimulatedCluster,
  server: SimulatedServer,
  request: { readonly method: string; readonly target: string; readonly body?: object },
): Promise<number> {
  const { body = {}, ...line } = request;
  const headers = { "content-type": "application/json" };
  const sending = server
    .request({ ...line, headers, body: Buffer.from(JSON.stringify(body)) })
    .then((response: InProcessResponse) => response.status);
  return cluster.world.run(sending, 120_000);
}

function create(cluster: SimulatedCluster, server: SimulatedServer, name: string): Promise<number> {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
  return write(cluster, server, { method: "POST", target: CONFIG_MAPS, body });
}

/** The names that a server lists, from the store and from its cache, which must be equal. */
async function namesAt(cluster: SimulatedCluster, server: SimulatedServer): Promise<string[]> {
  const listed = await Promise.all(
    ["", "?resourceVersion=0"].map(async (query) => {
      const { status, text } = await get(cluster, server, CONFIG_MAPS + query);
      expect(status).toBe(200);
      const { items } = JSON.parse(text) as { items: { metadata: { name: string } }[] };
      return items.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt");
    }),
  );
  expect(listed[0]).toEqual(listed[1]);
  return listed[0] ?? [];
}

async function readyz(cluster: SimulatedCluster, server: SimulatedServer): Promise<string> {
  return (await get(cluster, server, "/readyz/store-history")).text;
}

test("after a restore to a lower revision every server serves the restored objects, also those it had deleted", async () => {
  const cluster = await threeServers();
  const [first] = cluster.servers as [SimulatedServer];
  expect(await create(cluster, first, "kept")).toBe(201);
  expect(await create(cluster, first, "deleted-later")).toBe(201);
  const backup = cluster.world.backUpStore();
  expect(await create(cluster, first, "lost")).toBe(201);
  expect(await write(cluster, first, { method: "DELETE", target: `${CONFIG_MAPS}/deleted-later` })).toBe(200);
  cluster.restoreStore(backup);
  expect(await readyz(cluster, first)).toMatch(/the store was restored or replaced: the store is at revision \d+/);
  await cluster.advance({ seconds: RECOVERED_SECONDS });
  for (const server of cluster.servers) {
    expect(await namesAt(cluster, server)).toEqual(["deleted-later", "kept"]);
    expect((await get(cluster, server, `${CONFIG_MAPS}/lost`)).status).toBe(404);
    expect(await readyz(cluster, server)).toBe("ok");
  }
  for (const server of cluster.servers) {
    const created = `new-${server.id}`;
    expect(await create(cluster, server, created)).toBe(201);
    expect((await get(cluster, server, `${CONFIG_MAPS}/${created}`)).status).toBe(200);
  }
  cluster.shutDown();
});

test("a server that could not reach the store while the new history overtook the old one serves the new objects", async () => {
  const cluster = await threeServers();
  const [first, second, third] = cluster.servers as [SimulatedServer, SimulatedServer, SimulatedServer];
  const backup = cluster.world.backUpStore();
  for (let index = 0; index < 60; index++) expect(await create(cluster, third, `lost-${index}`)).toBe(201);
  const kv = cluster.world.openKv();
  const before = await kv.currentRevision();
  third.setStoreFault(STORE_IS_DOWN);
  cluster.restoreStore(backup);
  await cluster.advance({ seconds: RECOVERED_SECONDS });
  const names: string[] = [];
  do {
    const name = `new-${String(names.length).padStart(4, "0")}`;
    expect(await create(cluster, names.length % 2 === 0 ? first : second, name)).toBe(201);
    names.push(name);
  } while ((await kv.currentRevision()) <= before + 10);
  third.setStoreFault(STORE_IS_FINE);
  await cluster.advance({ seconds: RECOVERED_SECONDS });
  for (const server of cluster.servers) {
    expect(await namesAt(cluster, server)).toEqual(names);
    expect((await get(cluster, server, `${CONFIG_MAPS}/lost-0`)).status).toBe(404);
  }
  cluster.shutDown();
});

test("a restore ends watches with 410, and a watch from a lost resourceVersion gets 410 instead of silence", async () => {
  const cluster = await threeServers();
  const [first] = cluster.servers as [SimulatedServer];
  const backup = cluster.world.backUpStore();
  for (let index = 0; index < 20; index++) expect(await create(cluster, first, `lost-${index}`)).toBe(201);
  const kv = cluster.world.openKv();
  const lost = await kv.currentRevision();
  const target = `${CONFIG_MAPS}?watch=true&resourceVersion=${lost}&timeoutSeconds=60`;
  const watch = await cluster.world.run(first.request({ method: "GET", target }));
  const ended = watch.text();
  await cluster.advance({ seconds: 1 });
  cluster.restoreStore(backup);
  expect(await cluster.world.run(ended, 1_000)).toContain('"code":410');
  await cluster.advance({ seconds: 5 });
  expect(await kv.currentRevision()).toBeLessThan(lost);
  const again = await get(cluster, first, target);
  expect(again.text).toContain('"code":410');
  cluster.shutDown();
});

test("a continue token from before a restore gets 410, and a new one works", async () => {
  const cluster = await threeServers();
  const [first, second] = cluster.servers as [SimulatedServer, SimulatedServer];
  for (const name of ["a", "b", "c", "d"]) expect(await create(cluster, first, name)).toBe(201);
  const backup = cluster.world.backUpStore();
  const pageOf = async (server: SimulatedServer, query: string): Promise<{ status: number; token: string }> => {
    const { status, text } = await get(cluster, server, `${CONFIG_MAPS}?limit=2${query}`);
    return { status, token: (JSON.parse(text) as { metadata: { continue?: string } }).metadata.continue ?? "" };
  };
  const { token } = await pageOf(first, "");
  expect((await pageOf(second, `&continue=${token}`)).status).toBe(200);
  cluster.restoreStore(backup);
  await cluster.advance({ seconds: RECOVERED_SECONDS });
  for (const server of [first, second]) expect((await pageOf(server, `&continue=${token}`)).status).toBe(410);
  const renewed = await pageOf(first, "");
  expect((await pageOf(second, `&continue=${renewed.token}`)).status).toBe(200);
  cluster.shutDown();
});

test.each([
  ["is healthy", STORE_IS_FINE, 20],
  ["cannot reach the store", STORE_IS_DOWN, 40],
])(
  "a resource of a server that joined after the backup, and %s, is not reported as unknown",
  async (_, fault, seconds) => {
    const cluster = simulate({ seed: 7 });
    const first = await cluster.addServer({ release: "1.36", runtimeConfig: ["batch/v1=false"] });
    await cluster.settle();
    const backup = cluster.world.backUpStore();
    const joined = await cluster.addServer({ release: "1.36" });
    await cluster.advance({ seconds: 30 });
    expect((await get(cluster, first, "/apis/batch/v1/jobs")).status).toBe(200);
    joined.setStoreFault(fault);
    cluster.restoreStore(backup);
    const statuses = new Set<number>();
    for (const start = cluster.world.clock.monotonic(); cluster.world.clock.monotonic() < start + seconds * 1000;) {
      statuses.add((await get(cluster, first, "/apis/batch/v1/jobs")).status);
      await cluster.advance({ seconds: 0.1 });
    }
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    cluster.shutDown();
  },
);

test("no server reports a resource of an earlier run as unknown while the restored store has the record of that run", async () => {
  const cluster = simulate({ seed: 7 });
  const first = await cluster.addServer({ release: "1.36" });
  const second = await cluster.addServer({ release: "1.31" });
  await cluster.settle();
  const path = "/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas";
  expect((await get(cluster, first, path)).status).toBe(200);
  const backup = cluster.world.backUpStore();
  await cluster.stop(second);
  await cluster.restart(second, { release: "1.33" });
  await cluster.advance({ seconds: 10 });
  second.setStoreFault(STORE_IS_DOWN);
  cluster.restoreStore(backup);
  // This server has never seen the later run, except in its responses.
  const joining = await cluster.addServer({ release: "1.36" });
  await cluster.advance({ seconds: 6 });
  for (let seconds = 0; seconds < 30; seconds++) {
    await cluster.advance({ seconds: 1 });
    for (const server of [first, joining]) expect((await get(cluster, server, path)).status).toBe(503);
  }
  cluster.shutDown();
});

test("after a restore to a time before it joined, a server publishes no storage version before its record", async () => {
  let isGranting = true;
  const leaseGrant = async (kv: Kv, ttlSeconds: number): Promise<LeaseId> => {
    if (!isGranting) throw new StorageError("unavailable", "no leases now");
    return kv.leaseGrant(ttlSeconds);
  };
  const wrapKv = (kv: Kv, serverId: string): Kv =>
    serverId === "server-3" ? overlaidKv(kv, { leaseGrant: (ttlSeconds) => leaseGrant(kv, ttlSeconds) }) : kv;
  const cluster = simulate({ seed: 7, plant: { wrapKv } });
  for (const release of ["1.34", "1.35"]) await cluster.addServer({ release });
  await cluster.settle();
  const backup = cluster.world.backUpStore();
  await cluster.addServer({ release: "1.36" });
  await cluster.settle();
  const kv = cluster.world.openKv();
  const isRecorded = async (): Promise<boolean> =>
    (await kv.range({ start: "/registry/peerserverleases/server-3" })).count > 0;
  const publishedBy3 = async (): Promise<number> => {
    const { items } = await kv.range({ start: `/registry/${STORAGE_VERSIONS}`, end: `/registry/${STORAGE_VERSIONS}~` });
    return items.filter(({ value }) => value.includes('"server-3"')).length;
  };
  expect(await publishedBy3()).toBeGreaterThan(50);
  isGranting = false;
  cluster.restoreStore(backup);
  for (let second = 0; second < 20; second++) {
    await cluster.advance({ seconds: 1 });
    expect([await isRecorded(), await publishedBy3()]).toEqual([false, 0]);
  }
  isGranting = true;
  await cluster.advance({ seconds: RECOVERED_SECONDS });
  expect(await isRecorded()).toBe(true);
  expect(await publishedBy3()).toBeGreaterThan(50);
  cluster.shutDown();
});

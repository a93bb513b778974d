/**
 * Tests of what clients and namespaces see while another client forges identity leases, or while a server hangs before
 * it is ready. The forger writes to the store, as through a kube-apiserver beside this cluster, where no admission
 * check of ours applies.
 */
import { describe, expect, test } from "vitest";
import { DOUBT_MS } from "../../src/cluster/peers/doubt-budget.ts";
import { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import type { Json } from "../api/start.ts";
import { forgeLease } from "../simulator/forge-lease.ts";

const UNKNOWN = "/apis/unknown.example.com/v1/things";
const STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";
/** Decisions are made once a second. */
const TOLERANCE_S = 3;
/** The time in which the namespace controller deletes an empty namespace, with a margin. */
const NAMESPACE_S = 10;

async function startCluster(seed: number): Promise<{ cluster: SimulatedCluster; servers: SimulatedServer[] }> {
  const cluster = new SimulatedCluster({ seed });
  const servers: SimulatedServer[] = [];
  for (const release of ["1.35", "1.36"] as const) servers.push(await cluster.addServer({ release }));
  await cluster.advance({ seconds: 10 });
  return { cluster, servers };
}

async function call(server: SimulatedServer, method: string, target: string, body?: Json): Promise<Json> {
  const response = await server.request({ method, target, ...(body === undefined ? {} : { body }) });
  return { status: response.status, body: await response.json() };
}

interface Seen {
  /** The seconds in which each server returned 503 for a resource that no server serves. */
  readonly doubtfulSeconds: readonly number[];
  /** All status codes of these requests. */
  readonly statuses: ReadonlySet<number>;
}

/** Lets the time pass. Once a second, runs the attack and requests an unknown resource from every server. */
async function observe(
  { cluster, servers }: { cluster: SimulatedCluster; servers: readonly SimulatedServer[] },
  seconds: number,
  attack: (second: number) => Promise<void>,
): Promise<Seen> {
  const doubtful = servers.map(() => 0);
  const statuses = new Set<number>();
  for (let second = 0; second < seconds; second++) {
    await cluster.world.run(attack(second));
    await cluster.advance({ seconds: 1 });
    for (const [index, server] of servers.entries()) {
      const { status } = await cluster.world.run(call(server, "GET", UNKNOWN));
      statuses.add(status);
      if (status === 503) doubtful[index]!++;
    }
  }
  return { doubtfulSeconds: doubtful, statuses };
}

/** Creates and deletes a namespace; returns the seconds until it is gone. */
async function namespaceSeconds(cluster: SimulatedCluster, server: SimulatedServer, name: string): Promise<number> {
  const target = `/api/v1/namespaces/${name}`;
  await cluster.world.run(call(server, "POST", "/api/v1/namespaces", { metadata: { name } }));
  await cluster.world.run(call(server, "DELETE", target));
  let seconds = 0;
  for (; seconds < 120; seconds++) {
    if ((await cluster.world.run(call(server, "GET", target))).status === 404) break;
    await cluster.advance({ seconds: 1 });
  }
  return seconds;
}

async function unsettledStorageVersions(cluster: SimulatedCluster, server: SimulatedServer): Promise<string[]> {
  const { body } = await cluster.world.run(call(server, "GET", STORAGE_VERSIONS));
  const isUnknown = ({ status }: Json): boolean =>
    status.conditions?.some((condition: Json) => condition.status === "Unknown") === true;
  return body.items.filter(isUnknown).map(({ metadata }: Json) => metadata.name);
}

describe("forged identity leases", () => {
  test.each<[string, (second: number) => string]>([
    ["one that is renewed every second", () => "ghost"],
    ["a new one every second", (second) => `ghost-${second}`],
  ])("%s cause doubt for 30 s in 10 minutes, and then change nothing", async (_name, ghost) => {
    const site = await startCluster(1);
    const { cluster, servers } = site;
    const seen = await observe(site, 90, (second) => forgeLease(cluster.world, ghost(second)));
    for (const seconds of seen.doubtfulSeconds) {
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThanOrEqual(DOUBT_MS / 1000 + TOLERANCE_S);
    }
    expect(seen.statuses).toEqual(new Set([404, 503]));
    expect(await namespaceSeconds(cluster, servers[0]!, "during-the-attack")).toBeLessThanOrEqual(NAMESPACE_S);
    expect(await unsettledStorageVersions(cluster, servers[0]!)).toEqual([]);
    const { body } = await cluster.world.run(call(servers[1]!, "GET", "/evenkeel/v1/status"));
    expect(body.ignoredLeases.count).toBeGreaterThan(0);
    cluster.shutDown();
  });

  test("that change the holder of a server's lease every second cause no doubt", async () => {
    const site = await startCluster(2);
    const { cluster, servers } = site;
    const target = servers[1]!.id;
    const seen = await observe(site, 60, (second) => forgeLease(cluster.world, target, `forged-${second}`));
    expect(seen.doubtfulSeconds).toEqual([0, 0]);
    expect(await namespaceSeconds(cluster, servers[0]!, "during-the-attack")).toBeLessThanOrEqual(NAMESPACE_S);
    cluster.shutDown();
  });
});

test("a server that hangs before it is ready causes doubt for 30 s, and is named in the status", async () => {
  const site = await startCluster(3);
  const { cluster, servers } = site;
  const kv = cluster.world.openKv();
  const lease = await cluster.world.run(kv.leaseGrant(15));
  const record = {
    ...{ kind: "StartingServer", apiVersion: "evenkeel.io/v1", metadata: { name: "hanging" } },
    ...{ incarnation: "run-1", release: "1.36" },
  };
  const value = Buffer.from(JSON.stringify(record));
  const key = "/registry/evenkeel/starting/hanging/run-1";
  await cluster.world.run(kv.commit({ kind: "put", key, value, expectedRevision: 0, lease }));
  const seen = await observe(site, 60, async () => {
    await kv.leaseKeepAlive(lease);
    await forgeLease(cluster.world, "hanging", "run-1");
  });
  for (const seconds of seen.doubtfulSeconds) {
    expect(seconds).toBeGreaterThan(20);
    expect(seconds).toBeLessThanOrEqual(30 + TOLERANCE_S);
  }
  expect(await unsettledStorageVersions(cluster, servers[0]!)).toEqual([]);
  const { body } = await cluster.world.run(call(servers[0]!, "GET", "/evenkeel/v1/status"));
  expect(body.overdue).toEqual([{ server: "hanging", release: "1.36" }]);
  cluster.shutDown();
});

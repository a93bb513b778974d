/**
 * Servers that disagree for a while about whether another server is live: one of them has restarted, and does not know
 * that the record of the disputed server has just disappeared.
 */
import { expect, test } from "vitest";
import { encodeMasterLease, masterLeaseKey } from "../../src/cluster/peers/master-leases.ts";
import { simulate, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import { STORE_IS_FINE } from "../../src/tools/simulator/store-link.ts";
import { forgeLease } from "./forge-lease.ts";

const RELEASE = "1.34";
/** A server without controllers, so that another one collects the entries of departed servers. */
const FOLLOWER = { release: RELEASE, controllers: [] };
const PODS = "storageversions/core.pods";
/** How long after the disappearance of its record a server with a valid identity lease counts as departed. */
const DEPARTED_SECONDS = 50;

/** Leaves the masterlease of a server in the store for ever. */
async function keepMasterLease({ world }: SimulatedCluster, ip: string): Promise<void> {
  const key = masterLeaseKey("/registry/", ip);
  const kv = world.openKv();
  const [before] = (await kv.range({ start: key })).items;
  const value = Buffer.from(JSON.stringify(encodeMasterLease({ ip, generation: 1_000 })));
  await kv.commit({ kind: "put", key, value, expectedRevision: before?.modRevision ?? 0 });
  await kv.close();
}

/** Writes the identity lease of a server every second, also after other servers have deleted it. */
async function forgeLeaseFor(cluster: SimulatedCluster, serverId: string, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await forgeLease(cluster.world, serverId, `run-${second}`);
    await cluster.advance({ seconds: 1 });
  }
}

/** The IDs in the entries of the StorageVersion object of pods. */
function entries({ history }: SimulatedCluster): string[] {
  const { status } = history.get(PODS) as { status: { storageVersions: { apiServerID: string }[] } };
  return status.storageVersions.map(({ apiServerID }) => apiServerID);
}

/** The IDs of the servers that a server takes for kube-apiservers. */
function kubeApiservers({ run }: SimulatedServer): string[] {
  return run!.server.view().peers.flatMap(({ id, kube }) => (kube === undefined ? [] : [id]));
}

test("servers that disagree about whether a server is live do not overwrite each other's StorageVersion objects", async () => {
  const cluster = simulate({ seed: 1 });
  await cluster.addServer(FOLLOWER);
  await cluster.addServer({ release: RELEASE });
  await cluster.addServer(FOLLOWER);
  await cluster.settle();
  const [disputed, other, restarted] = cluster.servers as [SimulatedServer, SimulatedServer, SimulatedServer];
  disputed.setStoreFault({ ...STORE_IS_FINE, isDown: true });
  await keepMasterLease(cluster, disputed.address.host);
  await forgeLeaseFor(cluster, disputed.id, DEPARTED_SECONDS);
  restarted.crash();
  let writes = 0;
  cluster.history.onCommit(({ key }) => void (key === PODS && writes++));
  await cluster.restart(restarted, FOLLOWER);
  await forgeLeaseFor(cluster, disputed.id, 5);
  expect([other, restarted].map(kubeApiservers)).toEqual([[], [disputed.id]]);
  await forgeLeaseFor(cluster, disputed.id, 60);
  expect([other, restarted].map(kubeApiservers)).toEqual([[disputed.id], [disputed.id]]);
  expect(entries(cluster)).toEqual(cluster.servers.map(({ id }) => id));
  expect(writes).toBeLessThan(20);
  cluster.shutDown();
});

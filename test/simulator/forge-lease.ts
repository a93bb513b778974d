/**
 * Forges an identity lease, as a client with rights to leases can through a kube-apiserver on the same store, where no
 * admission check of Evenkeel applies.
 */
import type { World } from "../../src/tools/simulator/world.ts";

export async function forgeLease(world: World, name: string, run = "run"): Promise<void> {
  const key = `/registry/leases/kube-system/${name}`;
  const kv = world.openKv();
  const { items } = await kv.range({ start: key });
  const value = Buffer.from(JSON.stringify(forgedLease(world.clock.now(), name, run)));
  // A lost race changes nothing: the server whose lease it is has renewed it.
  await kv.commit({ kind: "put", key, value, expectedRevision: items[0]?.modRevision ?? 0 });
  await kv.close();
}

function forgedLease(nowMs: number, name: string, run: string): object {
  return {
    kind: "Lease",
    apiVersion: "coordination.k8s.io/v1",
    metadata: {
      name,
      namespace: "kube-system",
      uid: "00000000-0000-4000-8000-000000000000",
      creationTimestamp: "2030-01-01T00:00:00Z",
      labels: { "apiserver.kubernetes.io/identity": "kube-apiserver" },
    },
    spec: {
      holderIdentity: `${name}_${run}`,
      leaseDurationSeconds: 3600,
      renewTime: new Date(nowMs).toISOString().replace("Z", "000Z"),
    },
  };
}

/** Tests of the endpoints of the kubernetes Service: they contain the addresses of the live servers and no other. */
import { describe, expect, test } from "vitest";
import { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import type { Json } from "../api/start.ts";
import { protobufMasterLease } from "../peers/stored-endpoints.ts";

const ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes";
const SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
const SERVICE = "/api/v1/namespaces/default/services/kubernetes";
/** The maximum time until the address of a crashed server is removed. */
const REMOVED_WITHIN_S = 20;

interface Published {
  readonly addresses: readonly string[];
  readonly port: number | undefined;
  readonly targetPort: number;
}

async function json(server: SimulatedServer, target: string): Promise<Json> {
  return (await server.request({ method: "GET", target })).json();
}

/** The endpoints of the Service; fails if Endpoints and EndpointSlice differ. */
async function published(cluster: SimulatedCluster, server: SimulatedServer): Promise<Published> {
  const [endpoints, slice, service] = await cluster.world.run(
    Promise.all([ENDPOINTS, SLICE, SERVICE].map((target) => json(server, target))),
  );
  const [subset] = endpoints.subsets ?? [];
  const addresses = (subset?.addresses ?? []).map(({ ip }: { ip: string }) => ip);
  const sliced = (slice.endpoints ?? []).flatMap((one: { addresses: string[] }) => one.addresses);
  expect([sliced, slice.ports?.[0]?.port]).toEqual([addresses, subset?.ports[0].port]);
  return { addresses, port: subset?.ports[0].port, targetPort: service.spec.ports[0].targetPort };
}

async function startThree(seed: number): Promise<{ cluster: SimulatedCluster; servers: SimulatedServer[] }> {
  const cluster = new SimulatedCluster({ seed });
  const servers: SimulatedServer[] = [];
  for (const release of ["1.35", "1.36", "1.36"] as const) servers.push(await cluster.addServer({ release }));
  await cluster.advance({ seconds: 1 });
  return { cluster, servers };
}

const ALL = ["10.1.0.1", "10.1.0.2", "10.1.0.3"];

describe("the endpoints of the kubernetes Service", () => {
  test("contain the addresses of all ready servers", async () => {
    const { cluster, servers } = await startThree(1);
    for (const server of servers)
      expect(await published(cluster, server)).toEqual({ addresses: ALL, port: 6443, targetPort: 6443 });
    cluster.shutDown();
  });

  test("lose the address of a crashed server within 20 s, whichever server it was", async () => {
    const { cluster, servers } = await startThree(2);
    for (const [index, server] of servers.entries()) {
      const other = servers[(index + 1) % servers.length]!;
      server.crash();
      await cluster.advance({ seconds: REMOVED_WITHIN_S });
      expect((await published(cluster, other)).addresses).toEqual(ALL.filter((ip) => ip !== server.address.host));
      await cluster.restart(server, { release: "1.36" });
      await cluster.advance({ seconds: 1 });
      expect((await published(cluster, other)).addresses).toEqual(ALL);
    }
    cluster.shutDown();
  });

  test("lose the address of a server at the beginning of its shutdown", async () => {
    const { cluster, servers } = await startThree(3);
    const [first, second, third] = servers as [SimulatedServer, SimulatedServer, SimulatedServer];
    const stopping = second.run!.server;
    await cluster.world.run(stopping.beginShutdown());
    expect((await published(cluster, first)).addresses).toEqual(["10.1.0.1", "10.1.0.3"]);
    await cluster.stop(second);
    await cluster.stop(third);
    expect((await published(cluster, first)).addresses).toEqual(["10.1.0.1"]);
    cluster.shutDown();
  });

  test("are restored within 10 s after a user has changed or deleted them", async () => {
    const { cluster, servers } = await startThree(4);
    const [first] = servers as [SimulatedServer];
    const body = { subsets: [{ addresses: [{ ip: "10.9.9.9" }], ports: [{ name: "https", port: 1 }] }] };
    const headers = { "content-type": "application/merge-patch+json" };
    await cluster.world.run(first.request({ method: "PATCH", target: ENDPOINTS, headers, body }));
    await cluster.world.run(first.request({ method: "DELETE", target: SLICE }));
    await cluster.advance({ seconds: 11 });
    expect(await published(cluster, first)).toEqual({ addresses: ALL, port: 6443, targetPort: 6443 });
    cluster.shutDown();
  });

  test("contain the address of a kube-apiserver while its masterlease exists", async () => {
    const { cluster, servers } = await startThree(5);
    const [first] = servers as [SimulatedServer];
    const kv = cluster.world.openKv();
    const put = async (): Promise<void> => {
      const lease = await kv.leaseGrant(15);
      const value = protobufMasterLease("10.1.0.200");
      await kv.commit({ kind: "put", key: "/registry/masterleases/10.1.0.200", value, expectedRevision: 0, lease });
    };
    await cluster.world.run(put());
    await cluster.advance({ seconds: 1 });
    expect((await published(cluster, first)).addresses).toEqual(
      [...ALL.slice(0, 1), ...ALL.slice(1), "10.1.0.200"].sort(),
    );
    await cluster.advance({ seconds: REMOVED_WITHIN_S });
    expect((await published(cluster, first)).addresses).toEqual(ALL);
    cluster.shutDown();
  });
});

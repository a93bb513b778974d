/** The Events that the repair of service numbers writes, with kube-apiserver's reasons and notes. */
import { describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { FaultyKv } from "./faulty-kv.ts";
import { setBits } from "./service-records.ts";
import { startServer, type Json, type TestServer } from "./start.ts";

/** Stores an object as another server would. */
async function put(kv: Kv, key: string, object: Json): Promise<void> {
  const value = Buffer.from(JSON.stringify(object));
  await kv.commit({ kind: "put", key: `/registry/${key}`, value, expectedRevision: 0 });
}

function putService(kv: Kv, name: string, spec: Json): Promise<void> {
  const metadata = { name, namespace: "default", uid: `uid-${name}` };
  const whole = { type: "NodePort", ports: [{ port: 80 }], ...spec };
  return put(kv, `services/specs/default/${name}`, { kind: "Service", apiVersion: "v1", metadata, spec: whole });
}

function putAddress(kv: Kv, name: string, parentRef: Json): Promise<void> {
  const labels = {
    "ipaddress.kubernetes.io/ip-family": name.includes(":") ? "IPv6" : "IPv4",
    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
  };
  const metadata = { name, uid: "3f1c9a52-0000-4000-8000-000000000001", labels };
  const object = { kind: "IPAddress", apiVersion: "networking.k8s.io/v1", metadata, spec: { parentRef } };
  return put(kv, `ipaddresses/${name}`, object);
}

async function events(server: TestServer): Promise<string[]> {
  await server.world.advance(2_000);
  const { items } = (await server.get("/apis/events.k8s.io/v1/namespaces/default/events")).body;
  return items
    .map(({ reason, regarding, note }: Json) => `${reason} ${regarding.kind} ${regarding.name}: ${note}`)
    .sort();
}

test("a repair that fails while the store is down is logged once", async () => {
  const logged: string[] = [];
  const note = (message: string): void => void logged.push(message);
  const wrapKv = (real: Kv): Kv => {
    const kv = new FaultyKv(real);
    kv.setDown(true);
    return kv;
  };
  await using server = await startServer({
    skipReady: true,
    wrapKv,
    log: { debug: () => {}, info: () => {}, warn: note, error: note },
  });
  await server.world.advance(30_000);
  expect(logged.filter((message) => message === "checking cluster IPs and node ports failed")).toHaveLength(1);
});

describe("the repair writes an Event", () => {
  test("for node ports that are not allocated, allocated twice, or out of range", async () => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    await setBits(kv, "servicenodeports", "30000-32767", []);
    await putService(kv, "a", { ports: [{ port: 80, nodePort: 30_001 }] });
    await putService(kv, "b", { ports: [{ port: 80, nodePort: 30_001 }] });
    await putService(kv, "c", { ports: [{ port: 80, nodePort: 80 }] });
    await using server = await startServer({ world });
    expect(await events(server)).toEqual([
      "PortAlreadyAllocated Service b: Port 30001 was assigned to multiple services; please recreate service",
      "PortNotAllocated Service a: Port 30001 is not allocated; repairing",
      "PortOutOfRange Service c: Port 80 is not within the port range 30000-32767; please recreate service",
    ]);
    const { items } = (await server.get("/apis/events.k8s.io/v1/namespaces/default/events")).body;
    expect(items[0]).toMatchObject({
      action: "PortAllocation",
      reportingController: "portallocator-repair-controller",
      type: "Warning",
      regarding: { apiVersion: "v1", namespace: "default", uid: "uid-a" },
    });
    await kv.close();
  });

  test.each([
    {
      release: "1.32",
      range: "within the service CIDR 10.0.0.0/24",
      space: "",
      other:
        "ClusterIPNotValid Service e: Cluster IP fd00::5(IPv6) is of ip family that is no longer configured on cluster",
    },
    {
      release: "1.36",
      range: "within any configured Service CIDR",
      space: " ",
      other: "ClusterIPOutOfRange Service e: Cluster IP [IPv6]: fd00::5 is not within any configured Service CIDR",
    },
  ])("for cluster IPs, in the words of release $release", async ({ release, range, space, other }) => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    await setBits(kv, "serviceips", "10.0.0.0/24", []);
    for (const [name, ip] of Object.entries({ a: "10.0.0.5", b: "10.0.0.5", c: "10.9.0.5", d: "x", e: "fd00::5" }))
      await putService(kv, name, { type: "ClusterIP", clusterIP: ip, clusterIPs: [ip] });
    await using server = await startServer({ world, release });
    const expected = [
      "ClusterIPAlreadyAllocated Service b: Cluster IP [IPv4]:10.0.0.5 was assigned to multiple services; please recreate service",
      `ClusterIPNotAllocated Service a: Cluster IP [IPv4]:${space}10.0.0.5 is not allocated; repairing`,
      "ClusterIPNotValid Service d: Cluster IP x is not a valid IP; please recreate service",
      `${other}; please recreate service`,
      `ClusterIPOutOfRange Service c: Cluster IP [IPv4]:${space}10.9.0.5 is not ${range}; please recreate service`,
    ];
    expect(await events(server)).toEqual(expected.sort());
    await kv.close();
  });

  test("for an IPAddress with a wrong owner, which it corrects, and for one without a Service, which it deletes", async () => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    await putService(kv, "web", { type: "ClusterIP", clusterIP: "10.0.0.5", clusterIPs: ["10.0.0.5"] });
    await putAddress(kv, "10.0.0.5", { resource: "gateways", group: "example.com", name: "g" });
    await putAddress(kv, "10.0.0.6", { resource: "services", namespace: "default", name: "web" });
    await putAddress(kv, "fd00::7", { resource: "services", namespace: "default", name: "gone" });
    await using server = await startServer({ world });
    expect(await events(server)).toEqual([
      "ClusterIPNotAllocated Service web: the ClusterIP [IPv4]: 10.0.0.5 for Service default/web has a wrong reference; repairing",
    ]);
    const { body } = await server.get("/apis/networking.k8s.io/v1/ipaddresses/10.0.0.5");
    expect(body.spec.parentRef).toEqual({ resource: "services", namespace: "default", name: "web" });
    await server.world.advance(80_000);
    expect((await events(server)).slice(1)).toEqual([
      "IPAddressNotAllocated IPAddress fd00::7: IPAddress: fd00::7 for Service default/gone appears to have leaked: cleaning up",
      "IPAddressWrongReference IPAddress 10.0.0.6: IPAddress: 10.0.0.6 for Service default/web has a wrong reference; cleaning up",
    ]);
    expect((await server.get("/apis/networking.k8s.io/v1/ipaddresses")).body.items).toHaveLength(1);
    await kv.close();
  });

  test("once for a finding that recurs, and counts it in the series of the Event", async () => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    await putService(kv, "a", { ports: [{ port: 80, nodePort: 80 }] });
    await using server = await startServer({ world });
    await server.world.advance(600_000);
    const { items } = (await server.get("/apis/events.k8s.io/v1/namespaces/default/events")).body;
    expect(items.map(({ reason, series }: Json) => [reason, series.count])).toEqual([["PortOutOfRange", 4]]);
    await kv.close();
  });

  test("for nothing when the records of a new cluster, or of an older release that joins, are filled", async () => {
    const world = new World({ seed: 1 });
    await using server = await startServer({ world });
    await server.create("/api/v1/namespaces/default/services", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { type: "NodePort", ports: [{ port: 80 }] },
    });
    await using older = await startServer({ world, release: "1.30" });
    await older.world.advance(400_000);
    expect(await events(server)).toEqual([]);
  });
});

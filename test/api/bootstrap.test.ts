import { describe, expect, test } from "vitest";
import { RELEASES } from "../../src/objects/catalog/release.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { storedObjects } from "./own-records.ts";
import { names, startServer, type Json, type StartOptions, type TestServer } from "./start.ts";

const NETWORKING = "/apis/networking.k8s.io/v1";
const SCHEMAS_COUNT = 11;
const LEVELS_COUNT = 8;

/**
 * Starts a server that is configured to listen at the address but opens no socket, and waits until it has published its
 * endpoint.
 */
async function startListening(at: { address?: string; port: number }, options: StartOptions = {}): Promise<TestServer> {
  const server = await startServer({ ...options, advertise: { address: at.address }, skipReady: true });
  server.server.announce(`127.0.0.1:${at.port}`);
  await server.world.run(server.server.ready);
  await server.world.advance(1_000);
  return server;
}

function flowControlOf(release: string): string {
  return `/apis/flowcontrol.apiserver.k8s.io/${release === "1.28" ? "v1beta3" : "v1"}`;
}

function hasServiceCidrs(release: string): boolean {
  return Number(release.split(".")[1]) >= 33;
}

describe.each(RELEASES)("an empty store, once a server of release %s is ready,", (release) => {
  test("contains the initial objects of a cluster", async () => {
    await using server = await startListening({ address: "192.0.2.10", port: 6443 }, { release });
    expect(names(await server.get("/api/v1/namespaces"))).toEqual([
      "default",
      "kube-node-lease",
      "kube-public",
      "kube-system",
    ]);
    expect(names(await server.get("/apis/scheduling.k8s.io/v1/priorityclasses"))).toEqual([
      "system-cluster-critical",
      "system-node-critical",
    ]);
    expect(names(await server.get(`${flowControlOf(release)}/flowschemas`))).toHaveLength(SCHEMAS_COUNT);
    expect(names(await server.get(`${flowControlOf(release)}/prioritylevelconfigurations`))).toHaveLength(LEVELS_COUNT);
    expect((await server.get("/api/v1/namespaces/default/endpoints/kubernetes")).body.subsets).toEqual([
      { addresses: [{ ip: "192.0.2.10" }], ports: [{ name: "https", port: 6443, protocol: "TCP" }] },
    ]);
    const service = (await server.get("/api/v1/namespaces/default/services/kubernetes")).body;
    expect(service.metadata.labels).toEqual({ component: "apiserver", provider: "kubernetes" });
    expect(service.spec).toEqual({
      clusterIP: "10.0.0.1",
      clusterIPs: ["10.0.0.1"],
      internalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: 6443 }],
      sessionAffinity: "None",
      type: "ClusterIP",
    });
  });

  test("contains the ServiceCIDR and the IPAddress of the kubernetes Service if the release serves them", async () => {
    await using server = await startListening({ port: 6443 }, { release });
    const cidr = await server.get(`${NETWORKING}/servicecidrs/kubernetes`);
    const address = await server.get(`${NETWORKING}/ipaddresses/10.0.0.1`);
    expect([cidr.status, address.status]).toEqual(hasServiceCidrs(release) ? [200, 200] : [404, 404]);
    if (!hasServiceCidrs(release)) return;
    expect(cidr.body.spec).toEqual({ cidrs: ["10.0.0.0/24"] });
    expect(cidr.body.status.conditions).toMatchObject([{ type: "Ready", status: "True" }]);
    expect(address.body.spec).toEqual({
      parentRef: { name: "kubernetes", namespace: "default", resource: "services" },
    });
    expect(address.body.metadata.labels["ipaddress.kubernetes.io/managed-by"]).toBe("ipallocator.k8s.io");
  });

  test("is not changed by the next server of the same release", async () => {
    const world = new World({ seed: 1 });
    await using first = await startListening({ address: "192.0.2.10", port: 6443 }, { release, world });
    const objects = await storedObjects(first.kv);
    await using second = await startListening({ address: "192.0.2.10", port: 6443 }, { release, world });
    expect(await storedObjects(second.kv)).toEqual(objects);
  });
});

test("a store that servers of an older and a newer release have filled is not changed when the server of the older release restarts", async () => {
  const world = new World({ seed: 1 });
  await using old = await startListening({ address: "192.0.2.10", port: 6443 }, { release: "1.30", world });
  await using next = await startListening({ address: "192.0.2.10", port: 6443 }, { release: "1.37", world });
  const objects = await storedObjects(next.kv);
  await using again = await startListening({ address: "192.0.2.10", port: 6443 }, { release: "1.30", world });
  expect(await storedObjects(again.kv)).toEqual(objects);
  // The newer release has added the objects that the older release does not serve, including the IPAddress of the
  // kubernetes Service.
  expect((await next.get(`${NETWORKING}/ipaddresses/10.0.0.1`)).status).toBe(200);
  expect((await old.get("/api/v1/namespaces/default/services/kubernetes")).status).toBe(200);
});

test("a server that starts after another was stopped, at another address and port, updates the target port and the endpoints of the kubernetes Service", async () => {
  const world = new World({ seed: 1 });
  const before = await serviceAfterStop(world, { address: "192.0.2.10", port: 6443 });
  await using second = await startListening({ address: "192.0.2.20", port: 7443 }, { world });
  const service = (await second.get("/api/v1/namespaces/default/services/kubernetes")).body;
  expect(service.metadata.uid).toBe(before.metadata.uid);
  expect(service.spec).toEqual({ ...before.spec, ports: [{ ...before.spec.ports[0], targetPort: 7443 }] });
  const slice = (await second.get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")).body;
  expect(slice.metadata.labels).toEqual({ "kubernetes.io/service-name": "kubernetes" });
  expect([slice.addressType, slice.endpoints, slice.ports]).toEqual([
    "IPv4",
    [{ addresses: ["192.0.2.20"], conditions: { ready: true } }],
    [{ name: "https", port: 7443, protocol: "TCP" }],
  ]);
  expect((await second.get("/api/v1/namespaces/default/endpoints/kubernetes")).body.subsets[0].addresses).toEqual([
    { ip: "192.0.2.20" },
  ]);
});

async function serviceAfterStop(world: World, at: { address: string; port: number }): Promise<Json> {
  await using server = await startListening(at, { world });
  return (await server.get("/api/v1/namespaces/default/services/kubernetes")).body;
}

test("a server without a reachable address publishes no endpoints, and a server without a listener does not create the kubernetes Service", async () => {
  await using local = await startListening({ port: 6443 });
  expect(names(await local.get("/api/v1/namespaces/default/services"))).toEqual(["kubernetes"]);
  expect(names(await local.get("/api/v1/namespaces/default/endpoints"))).toEqual([]);
  await using silent = await startServer();
  expect(names(await silent.get("/api/v1/services"))).toEqual([]);
});

test("the reconciler of the kubernetes Service backs off from Endpoints that another client keeps overwriting", async () => {
  await using server = await startListening({ address: "192.0.2.10", port: 6443 });
  const path = "/api/v1/namespaces/default/endpoints/kubernetes";
  const theirs = [{ addresses: [{ ip: "192.0.2.99" }], ports: [{ name: "https", port: 1, protocol: "TCP" }] }];
  let count = 0;
  for (let second = 0; second < 600; second++) {
    const { body } = await server.get(path);
    if (body.subsets[0].ports[0].port === 6443) {
      count++;
      const headers = { "user-agent": "other/1" };
      expect((await server.call("PUT", path, { ...body, subsets: theirs }, { headers })).status).toBe(200);
    }
    await server.world.advance(1_000);
  }
  // Without the back-off, it writes every 10 s.
  expect(count).toBeGreaterThan(5);
  expect(count).toBeLessThan(15);
});

test("a server that has not published its address is not ready", async () => {
  await using server = await startServer({ advertise: { address: "192.0.2.10" }, skipReady: true });
  await server.world.advance(10_000);
  const { text } = await server.get("/readyz?verbose");
  expect(text).toContain("[-]poststarthook/bootstrap-controller failed");
});

test("changes that users made to bootstrap objects are kept", async () => {
  const world = new World({ seed: 1 });
  await using first = await startServer({ world });
  await first.mergePatch("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical", {
    metadata: { labels: { ours: "yes" } },
  });
  await using second = await startServer({ world });
  expect(
    (await second.get("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical")).body.metadata.labels,
  ).toEqual({ ours: "yes" });
});

test("every flow schema refers to an existing priority level, and its Dangling condition is False", async () => {
  await using server = await startServer();
  const levels = names(await server.get("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"));
  const schemas = (await server.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")).body.items;
  for (const schema of schemas) {
    expect(levels).toContain(schema.spec.priorityLevelConfiguration.name);
    expect(schema.status.conditions.map(({ type, status }: Json) => `${type} ${status}`)).toEqual(["Dangling False"]);
  }
});

/** From which ServiceCIDRs and from which part of a range cluster IPs and node ports are allocated. */
import { describe, expect, test } from "vitest";
import { sentence, service, SERVICES } from "./service-records.ts";
import { startServer, type Json, type TestServer } from "./start.ts";

const CIDRS = "/apis/networking.k8s.io/v1/servicecidrs";

async function addCidr(server: TestServer, name: string, cidrs: readonly string[]): Promise<void> {
  const object = { apiVersion: "networking.k8s.io/v1", kind: "ServiceCIDR", metadata: { name }, spec: { cidrs } };
  expect((await server.create(CIDRS, object)).status).toBe(201);
}

function setReady(server: TestServer, name: string, status: "True" | "False"): Promise<unknown> {
  const lastTransitionTime = "2030-01-01T00:00:00Z";
  const condition = { type: "Ready", status, reason: "Test", message: "", lastTransitionTime };
  return server.mergePatch(`${CIDRS}/${name}/status`, { status: { conditions: [condition] } });
}

/** Creates Services until one is rejected; returns their cluster IPs. */
async function fill(server: TestServer, spec: Json = {}): Promise<string[]> {
  const ips: string[] = [];
  for (;;) {
    const { status, body } = await server.create(SERVICES, service(`web-${ips.length}`, spec));
    if (status !== 201) return ips;
    ips.push(body.spec.clusterIP);
  }
}

describe("cluster IPs", () => {
  test("are allocated from every ready ServiceCIDR, those of a second family included", async () => {
    await using server = await startServer({ serviceClusterIpRange: "10.0.0.0/30,fd00:10::/126" });
    await addCidr(server, "more", ["10.1.0.0/30", "fd00:11::/126"]);
    expect((await fill(server)).sort()).toEqual(["10.0.0.1", "10.0.0.2", "10.1.0.1", "10.1.0.2"]);
    await server.call("DELETE", SERVICES);
    expect(await fill(server, { ipFamilies: ["IPv6"] })).toHaveLength(6);
  });

  test("are not allocated from a ServiceCIDR that is not ready or is being deleted, but are released", async () => {
    await using server = await startServer({ serviceClusterIpRange: "10.0.0.0/30" });
    await addCidr(server, "more", ["10.1.0.0/30"]);
    await server.create(SERVICES, service("a", { clusterIP: "10.1.0.1" }));
    await setReady(server, "more", "False");
    expect(sentence(await server.create(SERVICES, service("b", { clusterIP: "10.1.0.2" })))).toContain(
      "the provided network does not match the current range",
    );
    expect((await server.delete(`${SERVICES}/a`)).status).toBe(200);
    expect((await server.get("/apis/networking.k8s.io/v1/ipaddresses")).body.items).toEqual([]);
    await setReady(server, "more", "True");
    await server.mergePatch(`${CIDRS}/more`, {
      metadata: { finalizers: ["networking.k8s.io/service-cidr-finalizer"] },
    });
    await server.delete(`${CIDRS}/more`);
    expect(await fill(server)).toHaveLength(2);
  });

  test("of a range that two ServiceCIDRs contain are allocated while one of them is ready", async () => {
    await using server = await startServer({ serviceClusterIpRange: "10.0.0.0/30" });
    await addCidr(server, "same", ["10.0.0.0/30"]);
    await setReady(server, "same", "False");
    expect(await fill(server)).toHaveLength(2);
  });

  test("are chosen from the upper part of each range first, in both families", async () => {
    await using server = await startServer({ serviceClusterIpRange: "10.0.0.0/27,fd00:10::/123" });
    const ips = await fill(server, { ipFamilyPolicy: "RequireDualStack" });
    const last = ips.map((ip) => Number(ip.split(".")[3]));
    // 32 addresses, of which the first 16 are for Services that ask for one.
    expect([last.length, Math.min(...last.slice(0, 14)), Math.max(...last.slice(14))]).toEqual([30, 17, 16]);
    const { items } = (await server.get(SERVICES)).body;
    const six = new Map<string, number>(
      items.map(({ spec }: Json) => [spec.clusterIP, Number.parseInt(spec.clusterIPs[1].split("::")[1], 16)]),
    );
    expect(Math.min(...ips.slice(0, 15).map((ip) => six.get(ip)!))).toBe(17);
  });
});

test("node ports are chosen from the upper part of the range first", async () => {
  await using server = await startServer({ serviceNodePortRange: "30000-30019" });
  const ports: number[] = [];
  for (let index = 0; index < 20; index++) {
    const { body } = await server.create(SERVICES, service(`web-${index}`, { type: "NodePort" }));
    ports.push(body.spec.ports[0].nodePort);
  }
  expect([Math.min(...ports.slice(0, 4)), Math.max(...ports.slice(4))]).toEqual([30_016, 30_015]);
});

test("the default ServiceCIDR is created again within 10 s after a user has deleted it", async () => {
  await using server = await startServer();
  await server.delete(`${CIDRS}/kubernetes`);
  expect((await server.get(`${CIDRS}/kubernetes`)).status).toBe(404);
  await server.world.advance(11_000);
  const { spec, status } = (await server.get(`${CIDRS}/kubernetes`)).body;
  expect([spec.cidrs, status.conditions[0].type, status.conditions[0].status]).toEqual([
    ["10.0.0.0/24"],
    "Ready",
    "True",
  ]);
});

test("the default ServiceCIDR keeps its ranges and gets no condition from a server with other ranges", async () => {
  await using first = await startServer();
  await first.mergePatch(`${CIDRS}/kubernetes/status`, { status: { conditions: null } });
  const { world } = first;
  await using second = await startServer({ world, serviceClusterIpRange: "10.9.0.0/24" });
  const { spec, status } = (await second.get(`${CIDRS}/kubernetes`)).body;
  expect([spec.cidrs, status.conditions]).toEqual([["10.0.0.0/24"], undefined]);
});

test("a release that allocates from no ServiceCIDR creates none, even if it serves the kind", async () => {
  await using server = await startServer({ release: "1.32", runtimeConfig: ["networking.k8s.io/v1beta1=true"] });
  await server.world.advance(20_000);
  expect((await server.get("/apis/networking.k8s.io/v1beta1/servicecidrs")).body.items).toEqual([]);
  await server.create(SERVICES, service("web"));
  expect((await server.get("/apis/networking.k8s.io/v1beta1/ipaddresses")).body.items).toEqual([]);
});

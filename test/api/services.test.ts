import { describe, expect, test } from "vitest";
import { sleep } from "../../src/base/clock.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { StorageError, type Kv } from "../../src/storage/kv.ts";
import { startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import { allocated, sentence, service, SERVICES, setBits } from "./service-records.ts";

describe("a cluster IP", () => {
  test("is allocated for a Service that requests none, and the related fields are set", async () => {
    await using server = await startServer();
    const { status, body } = await server.create(SERVICES, service("web"));
    expect(status).toBe(201);
    const { clusterIP } = body.spec;
    expect(clusterIP).toMatch(/^10\.0\.0\.\d+$/);
    expect(body.spec).toEqual({
      clusterIP,
      clusterIPs: [clusterIP],
      internalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
      sessionAffinity: "None",
      type: "ClusterIP",
    });
    expect(body.status).toEqual({ loadBalancer: {} });
    const address = await server.get(`/apis/networking.k8s.io/v1/ipaddresses/${clusterIP}`);
    expect(address.body.spec.parentRef).toEqual({ resource: "services", namespace: "default", name: "web" });
  });

  test("can be requested by one Service only", async () => {
    await using server = await startServer();
    expect((await server.create(SERVICES, service("a", { clusterIP: "10.0.0.5" }))).body.spec.clusterIPs).toEqual([
      "10.0.0.5",
    ]);
    expect(sentence(await server.create(SERVICES, service("b", { clusterIP: "10.0.0.5" })))).toBe(
      '422 Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.5"]: failed to allocate IP 10.0.0.5: provided IP is already allocated',
    );
  });

  test.each([
    {
      release: "1.32",
      shown: '[]string{"10.1.0.5"}',
      why: "the provided IP (10.1.0.5) is not in the valid range. The range of valid IPs is 10.0.0.0/24",
    },
    { release: "1.36", shown: '["10.1.0.5"]', why: "the provided network does not match the current range" },
  ])("outside the range is rejected with the message of release $release", async ({ release, shown, why }) => {
    await using server = await startServer({ release });
    expect(sentence(await server.create(SERVICES, service("a", { clusterIP: "10.1.0.5" })))).toBe(
      `422 Service "a" is invalid: spec.clusterIPs: Invalid value: ${shown}: failed to allocate IP 10.1.0.5: ${why}`,
    );
  });

  test("outside the range is rejected with a message that names the range, if the request is a dry run", async () => {
    await using server = await startServer();
    expect(sentence(await server.create(`${SERVICES}?dryRun=All`, service("a", { clusterIP: "10.1.0.5" })))).toContain(
      "the provided IP (10.1.0.5) is not in the valid range. The range of valid IPs is 10.0.0.0/24",
    );
  });

  test("that an IPAddress of another owner reserves is not allocated", async () => {
    await using server = await startServer({ serviceClusterIpRange: "10.0.0.0/30" });
    const parentRef = { group: "gateway.example.com", resource: "gateways", namespace: "default", name: "g" };
    for (const name of ["10.0.0.1"]) {
      expect(
        (
          await server.create("/apis/networking.k8s.io/v1/ipaddresses", {
            apiVersion: "networking.k8s.io/v1",
            kind: "IPAddress",
            metadata: { name },
            spec: { parentRef },
          })
        ).status,
      ).toBe(201);
    }
    expect((await server.create(SERVICES, service("a"))).body.spec.clusterIP).toBe("10.0.0.2");
    expect(sentence(await server.create(SERVICES, service("b", { clusterIP: "10.0.0.1" })))).toContain(
      "provided IP is already allocated",
    );
  });

  test("is not allocated for headless and ExternalName Services", async () => {
    await using server = await startServer();
    const headless = await server.create(SERVICES, service("headless", { clusterIP: "None", selector: { a: "b" } }));
    expect(headless.body.spec).toMatchObject({
      clusterIP: "None",
      clusterIPs: ["None"],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
    });
    const open = await server.create(SERVICES, service("open", { clusterIP: "None" }));
    expect(open.body.spec).toMatchObject({ ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" });
    const name = await server.create(SERVICES, {
      ...service("name"),
      spec: { type: "ExternalName", externalName: "example.com" },
    });
    expect(name.body.spec).toEqual({ type: "ExternalName", externalName: "example.com", sessionAffinity: "None" });
    expect(await allocated(server.kv)).toEqual([]);
  });

  test("can be an IPv6 address", async () => {
    await using server = await startServer({ serviceClusterIpRange: "fd00:10::/112" });
    const { body } = await server.create(SERVICES, service("six"));
    expect(body.spec.clusterIP).toMatch(/^fd00:10::[0-9a-f]+$/);
    expect(body.spec.ipFamilies).toEqual(["IPv6"]);
    expect(sentence(await server.create(SERVICES, service("four", { ipFamilies: ["IPv4"] })))).toBe(
      '422 Service "four" is invalid: spec.ipFamilies[0]: Invalid value: "IPv4": not configured on this cluster',
    );
    expect(sentence(await server.create(SERVICES, service("both", { ipFamilyPolicy: "RequireDualStack" })))).toContain(
      "this cluster is not configured for dual-stack services",
    );
  });

  test("is immutable, and is kept by a PUT that does not contain it", async () => {
    await using server = await startServer();
    const { clusterIP } = (await server.create(SERVICES, service("web"))).body.spec;
    const put = await server.put(`${SERVICES}/web`, service("web", { ports: [{ port: 81 }] }));
    expect([put.status, put.body.spec.clusterIP, put.body.spec.clusterIPs]).toEqual([200, clusterIP, [clusterIP]]);
    expect(
      sentence(
        await server.mergePatch(`${SERVICES}/web`, { spec: { clusterIP: "10.0.0.200", clusterIPs: ["10.0.0.200"] } }),
      ),
    ).toBe('422 Service "web" is invalid: spec.clusterIPs[0]: Invalid value: ["10.0.0.200"]: may not change once set');
  });

  test("is released with its IPAddress when its Service is deleted or becomes an ExternalName", async () => {
    await using server = await startServer();
    await server.create(SERVICES, service("a", { clusterIP: "10.0.0.5" }));
    await server.create(SERVICES, service("b", { clusterIP: "10.0.0.6" }));
    const renamed = await server.mergePatch(`${SERVICES}/a`, {
      spec: { type: "ExternalName", externalName: "example.com" },
    });
    expect([renamed.status, renamed.body.spec.clusterIP, renamed.body.spec.ipFamilies]).toEqual([
      200,
      undefined,
      undefined,
    ]);
    expect((await server.delete(`${SERVICES}/b`)).status).toBe(200);
    expect(await allocated(server.kv)).toEqual([]);
    expect((await server.get("/apis/networking.k8s.io/v1/ipaddresses")).body.items).toEqual([]);
    expect((await server.create(SERVICES, service("c", { clusterIP: "10.0.0.6" }))).status).toBe(201);
    expect(
      (
        await server.mergePatch(`${SERVICES}/a`, {
          spec: { type: "ClusterIP", externalName: null, clusterIP: "10.0.0.5" },
        })
      ).body.spec.clusterIPs,
    ).toEqual(["10.0.0.5"]);
  });

  test("stays allocated until the last finalizer of a deleted Service is removed", async () => {
    await using server = await startServer();
    const held = service("held", { clusterIP: "10.0.0.5" });
    await server.create(SERVICES, { ...held, metadata: { name: "held", finalizers: ["example.com/hold"] } });
    await server.delete(`${SERVICES}/held`);
    expect(await allocated(server.kv)).toEqual(["clusterips/10.0.0.5"]);
    await server.mergePatch(`${SERVICES}/held`, { metadata: { finalizers: null } });
    expect(await allocated(server.kv)).toEqual([]);
  });

  test("cannot be allocated while the range is full, and can be after an address is released", async () => {
    await using server = await startServer({ serviceClusterIpRange: "10.0.0.0/30" });
    await server.create(SERVICES, service("a"));
    await server.create(SERVICES, service("b"));
    expect(sentence(await server.create(SERVICES, service("c")))).toBe(
      '500 Internal error occurred: failed to allocate a serviceIP for Service "c": range is full',
    );
    await server.call("DELETE", SERVICES);
    expect((await server.create(SERVICES, service("c"))).status).toBe(201);
  });
});

describe("node ports", () => {
  test("are allocated for Services of the types NodePort and LoadBalancer", async () => {
    await using server = await startServer();
    const { spec } = (
      await server.create(
        SERVICES,
        service("web", {
          type: "NodePort",
          ports: [
            { name: "a", port: 80 },
            { name: "b", port: 443, nodePort: 30080 },
          ],
        }),
      )
    ).body;
    expect(spec.ports[0].nodePort).toBeGreaterThanOrEqual(30_000);
    expect(spec.ports[1].nodePort).toBe(30_080);
    expect(spec.externalTrafficPolicy).toBe("Cluster");
    const balanced = (
      await server.create(SERVICES, service("lb", { type: "LoadBalancer", externalTrafficPolicy: "Local" }))
    ).body.spec;
    expect(balanced.allocateLoadBalancerNodePorts).toBe(true);
    expect(new Set([balanced.healthCheckNodePort, balanced.ports[0].nodePort]).size).toBe(2);
    const without = (
      await server.create(SERVICES, service("without", { type: "LoadBalancer", allocateLoadBalancerNodePorts: false }))
    ).body.spec;
    expect(without.ports[0].nodePort).toBeUndefined();
    expect((await allocated(server.kv)).filter((claim) => claim.startsWith("nodeports/"))).toHaveLength(4);
  });

  test("can be shared by two ports of a Service with the same number and different protocols", async () => {
    await using server = await startServer();
    const { ports } = (
      await server.create(
        SERVICES,
        service("dns", {
          type: "NodePort",
          ports: [
            { name: "t", port: 53 },
            { name: "u", port: 53, protocol: "UDP" },
          ],
        }),
      )
    ).body.spec;
    expect(ports[0].nodePort).toBe(ports[1].nodePort);
  });

  test("that are taken or outside the range are rejected, and the cluster IP is released", async () => {
    await using server = await startServer();
    await server.create(SERVICES, service("a", { type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] }));
    const before = await allocated(server.kv);
    expect(
      sentence(
        await server.create(SERVICES, service("b", { type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] })),
      ),
    ).toBe(
      '422 Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
    );
    expect(
      sentence(await server.create(SERVICES, service("b", { type: "NodePort", ports: [{ port: 80, nodePort: 80 }] }))),
    ).toBe(
      '422 Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    );
    expect(await allocated(server.kv)).toEqual(before);
  });

  test("stay with the port of the same name, and are released when the port is removed or the type changes", async () => {
    await using server = await startServer();
    await server.create(
      SERVICES,
      service("web", {
        type: "NodePort",
        clusterIP: "10.0.0.5",
        ports: [
          { name: "a", port: 80, nodePort: 30001 },
          { name: "b", port: 81, nodePort: 30002 },
        ],
      }),
    );
    const put = await server.put(
      `${SERVICES}/web`,
      service("web", {
        type: "NodePort",
        ports: [
          { name: "b", port: 82 },
          { name: "c", port: 83, nodePort: 30003 },
        ],
      }),
    );
    expect(put.body.spec.ports.map(({ nodePort }: Json) => nodePort)).toEqual([30_002, 30_003]);
    expect(await allocated(server.kv)).toEqual(["clusterips/10.0.0.5", "nodeports/30002", "nodeports/30003"]);
    const plain = await server.mergePatch(`${SERVICES}/web`, { spec: { type: "ClusterIP" } });
    expect(plain.body.spec.ports.map(({ nodePort }: Json) => nodePort)).toEqual([undefined, undefined]);
    expect(plain.body.spec.externalTrafficPolicy).toBeUndefined();
    expect(await allocated(server.kv)).toEqual(["clusterips/10.0.0.5"]);
  });

  test("of a Service with thousands of ports are rejected before any node port is allocated", async () => {
    await using server = await startServer();
    await server.create(SERVICES, service("a", { type: "NodePort", ports: [{ port: 80, nodePort: 32_767 }] }));
    const written: string[] = [];
    const watching = server.kv.watch(
      { prefix: "/registry/ranges/", fromRevision: (await server.kv.currentRevision()) + 1 },
      {
        events: (batch) => written.push(...batch.map(({ key }) => key)),
        progress: () => {},
        interrupted: () => {},
        closed: () => {},
      },
    );
    const many = Array.from({ length: 2_768 }, (_, index) => ({ name: `p${index}`, port: index + 1 }));
    expect(sentence(await server.create(SERVICES, service("b", { type: "NodePort", ports: many })))).toBe(
      "500 Internal error occurred: failed to allocate a nodePort: range is full",
    );
    const asked = many.map((port, index) => ({ ...port, nodePort: 30_000 + index }));
    expect(sentence(await server.create(SERVICES, service("b", { type: "NodePort", ports: asked })))).toBe(
      '422 Service "b" is invalid: spec.ports[2767].nodePort: Invalid value: 32767: provided port is already allocated',
    );
    const beyond = asked.map((port) => ({ ...port, nodePort: port.nodePort + 1 }));
    expect(sentence(await server.create(SERVICES, service("b", { type: "NodePort", ports: beyond })))).toContain(
      "provided port is already allocated",
    );
    expect(written).toEqual([]);
    watching.close();
  });

  test("cannot be allocated if the range is full", async () => {
    await using server = await startServer({ serviceNodePortRange: "30000-30000" });
    await server.create(SERVICES, service("a", { type: "NodePort" }));
    expect(sentence(await server.create(SERVICES, service("b", { type: "NodePort" })))).toBe(
      "500 Internal error occurred: failed to allocate a nodePort: range is full",
    );
    expect((await server.mergePatch(`${SERVICES}/a`, { spec: { type: "ClusterIP" } })).status).toBe(200);
    expect((await server.create(SERVICES, service("b", { type: "NodePort" }))).body.spec.ports[0].nodePort).toBe(
      30_000,
    );
  });
});

test("a dry run returns an address and a port, and allocates none", async () => {
  await using server = await startServer();
  const revision = await server.kv.currentRevision();
  const { body } = await server.create(`${SERVICES}?dryRun=All`, service("web", { type: "NodePort" }));
  expect(body.spec.clusterIP).toMatch(/^10\.0\.0\./);
  expect(body.spec.ports[0].nodePort).toBeGreaterThanOrEqual(30_000);
  expect(await server.kv.currentRevision()).toBe(revision);
});

test("a Service whose creation fails releases its allocations", async () => {
  await using server = await startServer();
  await server.create(SERVICES, service("web"));
  const before = await allocated(server.kv);
  expect((await server.create(SERVICES, service("web", { type: "NodePort" }))).status).toBe(409);
  expect(await allocated(server.kv)).toEqual(before);
});

test("a Service with port number 0 is rejected", async () => {
  await using server = await startServer();
  expect(sentence(await server.create(SERVICES, service("t", { clusterIP: "None", ports: [{ port: 0 }] })))).toBe(
    '422 Service "t" is invalid: [spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive, spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive]',
  );
});

/**
 * Delays each call to the store by some milliseconds, so that the requests of two servers interleave in many orders.
 */
function slowly(world: World, name: string): (kv: Kv) => Kv {
  const random = world.randomFor(`distance ${name}`);
  const wait = (): Promise<boolean> => sleep(world.clock, Math.ceil(random.float() * 10));
  return (kv) =>
    overlaidKv(kv, {
      range: (request) => wait().then(() => kv.range(request)),
      async commit(change) {
        await wait();
        const result = await kv.commit(change);
        await wait();
        return result;
      },
      currentRevision: () => wait().then(() => kv.currentRevision()),
    });
}

describe("several servers on one store", () => {
  async function createMany(servers: readonly TestServer[], count: number): Promise<ApiTestResponse[]> {
    const responses = Array.from({ length: count }, (_, index) =>
      servers[index % servers.length]!.begin("POST", SERVICES, service(`web-${index}`, { type: "NodePort" })),
    );
    return servers[0]!.world.run(Promise.all(responses));
  }

  test.each([1, 2, 3])("of different releases never allocate an address or a port twice (seed %i)", async (seed) => {
    const world = new World({ seed });
    const ranges = { serviceClusterIpRange: "10.0.0.0/24", serviceNodePortRange: "30000-30209" };
    await using old = await startServer({
      release: "1.29",
      world,
      ...ranges,
      random: world.randomFor("old"),
      wrapKv: slowly(world, "old"),
    });
    await using young = await startServer({
      release: "1.37",
      world,
      ...ranges,
      random: world.randomFor("young"),
      wrapKv: slowly(world, "young"),
    });
    const responses = await createMany([old, young], 200);
    expect(responses.filter(({ status }) => status !== 201)).toEqual([]);
    expect(new Set(responses.map(({ body }) => body.spec.clusterIP)).size).toBe(200);
    expect(new Set(responses.map(({ body }) => body.spec.ports[0].nodePort)).size).toBe(200);
  });

  test.each([7, 8, 9])("that change one Service concurrently never lose its allocations (seed %i)", async (seed) => {
    const world = new World({ seed });
    await using one = await startServer({ world, random: world.randomFor("one"), wrapKv: slowly(world, "one") });
    await using two = await startServer({
      world,
      release: "1.30",
      random: world.randomFor("two"),
      wrapKv: slowly(world, "two"),
    });
    await one.create(SERVICES, service("web", { clusterIP: "10.0.0.5" }));
    const patch = (server: TestServer, spec: Json): Promise<ApiTestResponse> =>
      server.begin("PATCH", `${SERVICES}/web`, JSON.stringify({ spec }), {
        headers: { "content-type": "application/merge-patch+json" },
      });
    const toPort = { type: "NodePort", ports: [{ port: 80, nodePort: 30_080 }] };
    const toPlain = { type: "ClusterIP", ports: [{ port: 80 }] };
    const held = async (): Promise<string[]> => {
      const { type } = (await one.get(`${SERVICES}/web`)).body.spec;
      return ["clusterips/10.0.0.5", ...(type === "NodePort" ? ["nodeports/30080"] : [])];
    };
    for (let round = 0; round < 20; round++) {
      await world.run(Promise.all([patch(one, toPort), patch(two, toPlain), patch(two, toPort), patch(one, toPlain)]));
      expect(await allocated(one.kv)).toEqual(expect.arrayContaining(await held()));
    }
    await world.advance(600_000);
    expect(await allocated(one.kv)).toEqual(await held());
  });
});

describe("a commit of a Service with an unknown result", () => {
  /** Fails the commit of a Service with an unknown result, after executing it if `isStored` is true. */
  function uncertain(when: { fails: boolean; isStored: boolean }): (kv: Kv) => Kv {
    return (kv) =>
      overlaidKv(kv, {
        async commit(change) {
          if (!when.fails || !change.key.startsWith("/registry/services/")) return kv.commit(change);
          if (when.isStored) await kv.commit(change);
          throw new StorageError("undecided", "the connection is gone");
        },
      });
  }

  test.each([true, false])(
    "keeps the numbers at first, and releases them later if the Service is not stored (isStored: %s)",
    async (isStored) => {
      const store = { fails: false, isStored };
      await using server = await startServer({ wrapKv: uncertain(store) });
      store.fails = true;
      const { status, headers } = await server.create(SERVICES, service("web", { type: "NodePort" }));
      expect([status, headers["retry-after"]]).toEqual([504, undefined]);
      expect(await allocated(server.kv)).toHaveLength(2);
      await server.world.advance(600_000);
      expect(await allocated(server.kv)).toHaveLength(isStored ? 2 : 0);
      expect((await server.get("/apis/networking.k8s.io/v1/ipaddresses")).body.items).toHaveLength(isStored ? 1 : 0);
    },
  );
});

describe("the repair of allocations", () => {
  test("releases a bit without a Service only when it finds the bit for the third time", async () => {
    await using server = await startServer({ serviceNodePortRange: "30000-30000" });
    await setBits(server.kv, "servicenodeports", "30000-30000", [0]);
    await server.world.advance(400_000);
    expect(await allocated(server.kv)).toEqual(["nodeports/30000"]);
    expect((await server.create(SERVICES, service("web", { type: "NodePort" }))).status).toBe(500);
    await server.world.advance(200_000);
    expect(await allocated(server.kv)).toEqual([]);
    expect((await server.create(SERVICES, service("web", { type: "NodePort" }))).status).toBe(201);
  });

  test("converts the claims of an earlier version: it records their numbers and removes them", async () => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    for (const number of ["nodeports/30007", "clusterips/10.0.0.9"])
      await kv.commit({
        kind: "put",
        key: `/registry/ranges/evenkeel/${number}`,
        value: Buffer.from(JSON.stringify({ kind: "Claim", apiVersion: "evenkeel/v1", metadata: { name: "lost" } })),
        expectedRevision: 0,
      });
    await using one = await startServer({ world, release: "1.33" });
    await using two = await startServer({ world, release: "1.33" });
    expect((await kv.range({ start: "/registry/ranges/evenkeel/", end: "/registry/ranges/evenkeel0" })).count).toBe(0);
    expect(await allocated(one.kv)).toEqual(["clusterips/10.0.0.9", "nodeports/30007"]);
    expect(await allocated(two.kv)).toEqual(await allocated(one.kv));
    await kv.close();
  });

  test("restores an IPAddress that a user deleted, and the address is not allocated meanwhile", async () => {
    await using server = await startServer();
    await server.create(SERVICES, service("web", { clusterIP: "10.0.0.5" }));
    await server.delete("/apis/networking.k8s.io/v1/ipaddresses/10.0.0.5");
    expect(await allocated(server.kv)).toEqual([]);
    expect(sentence(await server.create(SERVICES, service("b", { clusterIP: "10.0.0.5" })))).toContain(
      "provided IP is already allocated",
    );
    await server.world.advance(200_000);
    expect(await allocated(server.kv)).toEqual(["clusterips/10.0.0.5"]);
  });

  test("allocates the addresses and ports of Services that were stored without records", async () => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    const stored = {
      kind: "Service",
      apiVersion: "v1",
      metadata: { name: "web", namespace: "default", uid: "u" },
      spec: {
        type: "NodePort",
        clusterIP: "10.0.0.5",
        clusterIPs: ["10.0.0.5"],
        ports: [{ port: 80, nodePort: 30_080 }],
      },
    };
    await kv.commit({
      kind: "put",
      key: "/registry/services/specs/default/web",
      value: Buffer.from(JSON.stringify(stored)),
      expectedRevision: 0,
    });
    await using server = await startServer({ world });
    expect(await allocated(server.kv)).toEqual(["clusterips/10.0.0.5", "nodeports/30080"]);
    expect(sentence(await server.create(SERVICES, service("b", { clusterIP: "10.0.0.5" })))).toContain(
      "provided IP is already allocated",
    );
    await kv.close();
  });

  test("creates the missing IPAddress of a Service that an older release created when a newer one joins, and the older release deletes it", async () => {
    const world = new World({ seed: 1 });
    await using old = await startServer({ release: "1.30", world });
    await old.create(SERVICES, service("web", { clusterIP: "10.0.0.5" }));
    expect((await old.kv.range({ start: "/registry/ipaddresses/10.0.0.5" })).count).toBe(0);
    expect(await allocated(old.kv)).toContain("clusterips/10.0.0.5");
    await using young = await startServer({ release: "1.37", world });
    expect((await young.get("/apis/networking.k8s.io/v1/ipaddresses/10.0.0.5")).status).toBe(200);
    await old.delete(`${SERVICES}/web`);
    expect((await young.get("/apis/networking.k8s.io/v1/ipaddresses/10.0.0.5")).status).toBe(404);
    expect(await allocated(old.kv)).not.toContain("clusterips/10.0.0.5");
  });

  test("creates an IPAddress in a version that all releases with IPAddress objects can decode, if its own has none", async () => {
    const world = new World({ seed: 1 });
    await using young = await startServer({ release: "1.36", world });
    await using old = await startServer({ release: "1.32", world });
    const { clusterIP } = (await old.create(SERVICES, service("web"))).body.spec;
    const { items } = await old.kv.range({ start: `/registry/ipaddresses/${clusterIP}` });
    expect(JSON.parse(String(items[0]!.value)).apiVersion).toBe("networking.k8s.io/v1beta1");
    expect((await young.get(`/apis/networking.k8s.io/v1/ipaddresses/${clusterIP}`)).body.spec.parentRef.name).toBe(
      "web",
    );
  });

  test("changes nothing while a Service cannot be decoded", async () => {
    await using server = await startServer();
    await setBits(server.kv, "servicenodeports", "30000-32767", [0]);
    await server.kv.commit({
      kind: "put",
      key: "/registry/services/specs/default/broken",
      value: Buffer.from("{"),
      expectedRevision: 0,
    });
    await server.world.advance(900_000);
    expect(await allocated(server.kv)).toEqual(["nodeports/30000"]);
  });
});

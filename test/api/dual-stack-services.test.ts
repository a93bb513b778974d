/** Services of a cluster with two ranges of cluster IPs, one of each IP family. */
import { describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import { sleep } from "../../src/base/clock.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import { bitsOf, sentence, service, SERVICES } from "./service-records.ts";
import { startServer, type Json, type TestServer } from "./start.ts";

const BOTH = "10.0.0.0/24,fd00:10::/108";
const SECOND = "spec.ipFamilyPolicy: Invalid value";

async function addresses(server: TestServer): Promise<string[]> {
  const { items } = (await server.get("/apis/networking.k8s.io/v1/ipaddresses")).body;
  return items.map(({ metadata }: Json) => metadata.name);
}

function byText(texts: readonly string[]): string[] {
  return [...texts].sort((one, other) => (one < other ? -1 : 1));
}

function familyFields({ clusterIPs, ipFamilies, ipFamilyPolicy }: Json): Json {
  return { clusterIPs, ipFamilies, ipFamilyPolicy };
}

describe("a Service of a dual-stack cluster", () => {
  test.each([
    [{}, ["IPv4"], "SingleStack"],
    [{ ipFamilies: ["IPv6"] }, ["IPv6"], "SingleStack"],
    [{ ipFamilyPolicy: "PreferDualStack" }, ["IPv4", "IPv6"], "PreferDualStack"],
    [{ ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv6"] }, ["IPv6", "IPv4"], "RequireDualStack"],
    [{ clusterIP: "fd00:10::5", ipFamilyPolicy: "PreferDualStack" }, ["IPv6", "IPv4"], "PreferDualStack"],
  ])("with %j gets a cluster IP for each of %j", async (spec, families, policy) => {
    await using server = await startServer({ serviceClusterIpRange: BOTH });
    const { body } = await server.create(SERVICES, service("web", spec));
    expect([body.spec.ipFamilies, body.spec.ipFamilyPolicy]).toEqual([families, policy]);
    const prefixes = families.map((family) => (family === "IPv4" ? /^10\.0\.0\./ : /^fd00:10::/));
    expect(body.spec.clusterIPs).toEqual(prefixes.map((prefix) => expect.stringMatching(prefix)));
    expect(body.spec.clusterIP).toBe(body.spec.clusterIPs[0]);
    expect(await addresses(server)).toEqual(byText(body.spec.clusterIPs));
  });

  test("gets one address and releases it when the second cannot be allocated", async () => {
    await using server = await startServer({ serviceClusterIpRange: BOTH });
    await server.create(SERVICES, service("a", { clusterIP: "fd00:10::5", ipFamilies: ["IPv6"] }));
    const both = { clusterIP: "10.0.0.5", clusterIPs: ["10.0.0.5", "fd00:10::5"], ipFamilyPolicy: "RequireDualStack" };
    expect(sentence(await server.create(SERVICES, service("b", both)))).toBe(
      '422 Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.5","fd00:10::5"]: failed to allocate IP fd00:10::5: provided IP is already allocated',
    );
    expect(await addresses(server)).toEqual(["fd00:10::5"]);
  });

  test("shows the address that the server was to choose as empty in the error about the other one", async () => {
    await using server = await startServer({ serviceClusterIpRange: BOTH });
    await server.create(SERVICES, service("a", { clusterIP: "10.0.0.5" }));
    const spec = { clusterIP: "10.0.0.5", ipFamilyPolicy: "RequireDualStack" };
    expect(sentence(await server.create(SERVICES, service("b", spec)))).toContain(
      'spec.clusterIPs: Invalid value: ["10.0.0.5",""]: failed to allocate IP 10.0.0.5',
    );
  });

  test("is upgraded and downgraded by its ipFamilyPolicy, and keeps its first address", async () => {
    await using server = await startServer({ serviceClusterIpRange: BOTH });
    await server.create(SERVICES, service("web", { clusterIP: "10.0.0.5" }));
    const path = `${SERVICES}/web`;
    const up = (await server.mergePatch(path, { spec: { ipFamilyPolicy: "RequireDualStack" } })).body.spec;
    expect(familyFields(up)).toEqual({
      clusterIPs: ["10.0.0.5", expect.stringMatching(/^fd00:10::/)],
      ipFamilies: ["IPv4", "IPv6"],
      ipFamilyPolicy: "RequireDualStack",
    });
    expect(await addresses(server)).toEqual(up.clusterIPs);
    const down = (await server.mergePatch(path, { spec: { ipFamilyPolicy: "SingleStack" } })).body.spec;
    expect(familyFields(down)).toEqual({
      clusterIPs: ["10.0.0.5"],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
    });
    expect(await addresses(server)).toEqual(["10.0.0.5"]);
    const asked = { ipFamilyPolicy: "PreferDualStack", clusterIPs: ["10.0.0.5", "fd00:10::9"] };
    expect((await server.mergePatch(path, { spec: asked })).body.spec.ipFamilies).toEqual(["IPv4", "IPv6"]);
  });

  test.each([
    [
      { clusterIPs: ["10.0.0.5"] },
      `${SECOND}: "PreferDualStack": must be 'SingleStack' to release the secondary cluster IP`,
    ],
    [
      { ipFamilies: ["IPv4"] },
      `${SECOND}: "PreferDualStack": must be 'SingleStack' to release the secondary IP family`,
    ],
    [
      { clusterIPs: ["10.0.0.5", "fd00:10::7"] },
      'spec.clusterIPs[1]: Invalid value: ["10.0.0.5","fd00:10::7"]: may not change once set',
    ],
    [
      { ipFamilies: ["IPv6", "IPv4"] },
      'spec.clusterIPs[0]: Invalid value: "10.0.0.5": expected an IPv6 value as indicated by `ipFamilies[0]`',
    ],
  ])("with two addresses cannot be changed by %j", async (change, why) => {
    await using server = await startServer({ serviceClusterIpRange: BOTH });
    const both = { clusterIP: "10.0.0.5", clusterIPs: ["10.0.0.5", "fd00:10::5"], ipFamilyPolicy: "PreferDualStack" };
    await server.create(SERVICES, service("web", both));
    expect(sentence(await server.mergePatch(`${SERVICES}/web`, { spec: change }))).toContain(why);
    expect(await addresses(server)).toEqual(["10.0.0.5", "fd00:10::5"]);
  });

  test("keeps both addresses when a client replaces it without them", async () => {
    await using server = await startServer({ serviceClusterIpRange: BOTH });
    const sent = service("web", { ipFamilyPolicy: "PreferDualStack" });
    const { spec } = (await server.create(SERVICES, sent)).body;
    expect(familyFields((await server.put(`${SERVICES}/web`, sent)).body.spec)).toEqual(familyFields(spec));
    expect(familyFields((await server.put(`${SERVICES}/web`, service("web"))).body.spec)).toEqual(familyFields(spec));
  });

  test("releases both addresses when it becomes an ExternalName, and gets two when it becomes a ClusterIP again", async () => {
    await using server = await startServer({ serviceClusterIpRange: BOTH });
    await server.create(SERVICES, service("web", { ipFamilyPolicy: "RequireDualStack" }));
    const name = { type: "ExternalName", externalName: "example.com" };
    const named = await server.mergePatch(`${SERVICES}/web`, { spec: name });
    expect([named.status, familyFields(named.body.spec)]).toEqual([200, {}]);
    expect(await addresses(server)).toEqual([]);
    const again = { type: "ClusterIP", externalName: null, ipFamilyPolicy: "RequireDualStack" };
    const { spec } = (await server.mergePatch(`${SERVICES}/web`, { spec: again })).body;
    expect(spec.clusterIPs).toHaveLength(2);
    expect(await addresses(server)).toEqual(byText(spec.clusterIPs));
  });

  test("gets no address if it is headless, but the families that it asks for", async () => {
    await using server = await startServer({ serviceClusterIpRange: BOTH });
    const headless = { clusterIP: "None", selector: { a: "b" } };
    const created = (await server.create(SERVICES, service("a", headless))).body.spec;
    expect(familyFields(created)).toEqual({
      clusterIPs: ["None"],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
    });
    const up = (await server.mergePatch(`${SERVICES}/a`, { spec: { ipFamilyPolicy: "PreferDualStack" } })).body.spec;
    expect(familyFields(up)).toEqual({
      clusterIPs: ["None"],
      ipFamilies: ["IPv4", "IPv6"],
      ipFamilyPolicy: "PreferDualStack",
    });
    expect(await addresses(server)).toEqual([]);
  });
});

describe("a Service is not stored", () => {
  const DUAL = { ipFamilyPolicy: "RequireDualStack" };

  test.each(["a create", "an update"] as const)(
    "by %s whose new IPAddress a kube-apiserver has deleted meanwhile",
    async (how) => {
      const deleting = { isOn: false };
      const wrapKv = (kv: Kv): Kv =>
        overlaidKv(kv, {
          async commit(change) {
            if (deleting.isOn && change.key.startsWith("/registry/services/")) {
              const { items } = await kv.range({ start: "/registry/ipaddresses/fd", end: "/registry/ipaddresses0" });
              for (const { key, modRevision } of items)
                await kv.commit({ kind: "delete", key, expectedRevision: modRevision });
            }
            return kv.commit(change);
          },
        });
      await using server = await startServer({ serviceClusterIpRange: BOTH, wrapKv });
      const { body } = await server.create(SERVICES, service("other"));
      deleting.isOn = true;
      const response = await (how === "a create"
        ? server.create(SERVICES, service("web", DUAL))
        : server.mergePatch(`${SERVICES}/other`, { spec: DUAL }));
      expect([response.status, response.headers["retry-after"]]).toEqual([503, "1"]);
      deleting.isOn = false;
      expect((await server.get(SERVICES)).body.items.map(({ spec }: Json) => spec)).toEqual([body.spec]);
      expect(await addresses(server)).toEqual(body.spec.clusterIPs);
    },
  );

  test("more than 60 s after its numbers were allocated", async () => {
    const world = new World({ seed: 1 });
    const slow = { isOn: false };
    const wrapKv = (kv: Kv): Kv =>
      overlaidKv(kv, {
        async commit(change) {
          if (slow.isOn && change.key.startsWith("/registry/ipaddresses/")) await sleep(world.clock, 31_000);
          return kv.commit(change);
        },
      });
    await using server = await startServer({ world, serviceClusterIpRange: BOTH, wrapKv });
    slow.isOn = true;
    const created = await server.create(SERVICES, service("web", DUAL));
    // The request has reached its deadline before the second address is allocated.
    expect(created.status).toBe(504);
    await world.advance(60_000);
    expect([(await server.get(SERVICES)).body.items, await addresses(server)]).toEqual([[], []]);
  });
});

describe("the records of a dual-stack cluster", () => {
  test("are one bitmap for each family while a server uses bitmaps, and are released with the Service", async () => {
    await using server = await startServer({ serviceClusterIpRange: BOTH, release: "1.33" });
    const both = { clusterIP: "10.0.0.5", clusterIPs: ["10.0.0.5", "fd00:10::9"], ipFamilyPolicy: "RequireDualStack" };
    await server.create(SERVICES, service("web", both));
    expect([await bitsOf(server.kv, "serviceips"), await bitsOf(server.kv, "secondaryserviceips")]).toEqual([[4], [8]]);
    await server.delete(`${SERVICES}/web`);
    expect([await bitsOf(server.kv, "serviceips"), await bitsOf(server.kv, "secondaryserviceips")]).toEqual([[], []]);
  });

  test("have the first range of the server first: an IPv6 server keeps its IPv6 addresses in serviceips", async () => {
    await using server = await startServer({ serviceClusterIpRange: "fd00:10::/108,10.0.0.0/24", release: "1.32" });
    const both = { clusterIP: "fd00:10::9", ipFamilyPolicy: "RequireDualStack" };
    const { spec } = (await server.create(SERVICES, service("web", both))).body;
    const second = Number(spec.clusterIPs[1].split(".")[3]) - 1;
    expect([await bitsOf(server.kv, "serviceips"), await bitsOf(server.kv, "secondaryserviceips")]).toEqual([
      [8],
      [second],
    ]);
  });

  test("are repaired in both families", async () => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    const spec = {
      type: "ClusterIP",
      clusterIP: "10.0.0.5",
      clusterIPs: ["10.0.0.5", "fd00:10::9"],
      ports: [{ port: 1 }],
    };
    const stored = { kind: "Service", apiVersion: "v1", metadata: { name: "web", namespace: "default" }, spec };
    await kv.commit({
      kind: "put",
      key: "/registry/services/specs/default/web",
      value: Buffer.from(JSON.stringify(stored)),
      expectedRevision: 0,
    });
    await using server = await startServer({ serviceClusterIpRange: BOTH, release: "1.33", world });
    expect([await bitsOf(kv, "serviceips"), await bitsOf(kv, "secondaryserviceips")]).toEqual([[4], [8]]);
    expect(await addresses(server)).toEqual(["10.0.0.5", "fd00:10::9"]);
    await kv.close();
  });
});

describe("a cluster that becomes dual-stack", () => {
  const CIDR = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes";

  test("adds the second range to the default ServiceCIDR, and Services keep their addresses", async () => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    const before = await startServer({ world, serviceClusterIpRange: "10.0.0.0/24" });
    await before.create(SERVICES, service("web", { ipFamilyPolicy: "PreferDualStack", clusterIP: "10.0.0.5" }));
    await before[Symbol.asyncDispose]();
    await using server = await startServer({ world, serviceClusterIpRange: BOTH });
    expect((await server.get(CIDR)).body.spec.cidrs).toEqual(BOTH.split(","));
    const touched = (await server.mergePatch(`${SERVICES}/web`, { metadata: { labels: { a: "b" } } })).body.spec;
    expect(touched.clusterIPs).toEqual(["10.0.0.5"]);
    const up = (await server.mergePatch(`${SERVICES}/web`, { spec: { ipFamilyPolicy: "RequireDualStack" } })).body.spec;
    expect(up.clusterIPs).toEqual(["10.0.0.5", expect.stringMatching(/^fd00:10::/)]);
    await kv.close();
  });

  test("and single-stack again still releases the addresses of the other family", async () => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    const before = await startServer({ world, serviceClusterIpRange: BOTH });
    await before.create(SERVICES, service("web", { ipFamilyPolicy: "RequireDualStack" }));
    await before[Symbol.asyncDispose]();
    await using server = await startServer({ world, serviceClusterIpRange: "10.0.0.0/24" });
    expect(await addresses(server)).toHaveLength(2);
    await server.delete(`${SERVICES}/web`);
    expect(await addresses(server)).toEqual([]);
    await kv.close();
  });
});

test.each([
  ["10.0.0.0/24,fd00::/108,fd01::/108", /not contain more than two/],
  ["10.0.0.0/24,10.1.0.0/24", /different IP families/],
  ["10.0.0.0/24,", /must be a subnet/],
  ["fd00::/63", /too large; its prefix length must be at least 64/],
])("a server does not start with the service cluster IP range %s", async (serviceClusterIpRange, why) => {
  await expect(startServer({ serviceClusterIpRange })).rejects.toThrow(why);
});

test("a server of a release with bitmaps does not start with a range that a bitmap cannot hold", async () => {
  await expect(startServer({ release: "1.33", serviceClusterIpRange: "10.0.0.0/11" })).rejects.toThrow(
    /must be at least 12/,
  );
  await using server = await startServer({ release: "1.34", serviceClusterIpRange: "10.0.0.0/11" });
  expect((await server.create(SERVICES, service("web"))).status).toBe(201);
});

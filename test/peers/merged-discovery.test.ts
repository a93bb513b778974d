/**
 * Tests of merged discovery over TLS, for every format, Accept header and conditional request (§8.6, §9-18, -21, -35).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AGGREGATED, groupNames, NO_PEER, resourcesIn, type Json } from "./client.ts";
import { startCluster, type Member, type TestCluster } from "./cluster.ts";
import { discoveryGroup, discoveryResource, EXTRA_GROUP, EXTRA_GROUPS, startStub, type StubPeer } from "./stub-peer.ts";
import { eventually } from "./wait.ts";

let cluster: TestCluster;
let member: Member;
let stub: StubPeer;

beforeAll(async () => {
  cluster = await startCluster([{ peers: { timing: { documentRefreshMs: 100, probeIntervalMs: 50 } } }]);
  ({ member, stub } = await startStub(cluster));
});
afterAll(() => cluster[Symbol.asyncDispose]());

describe("the discovery document", () => {
  test.each([
    ["§8.6-2 no profile", AGGREGATED, true],
    ["§8.6-2 §8.6-16 another profile", `${AGGREGATED};profile=foo`, true],
    ["§8.6-3 nopeer", `${AGGREGATED}${NO_PEER}`, false],
    [
      "another order of parameters",
      "application/json;profile=nopeer;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
      false,
    ],
    ["nopeer first in a list", `${AGGREGATED}${NO_PEER},${AGGREGATED},application/json`, false],
    ["nopeer after another", `${AGGREGATED},${AGGREGATED}${NO_PEER}`, true],
    ["nopeer with a lower weight", `${AGGREGATED}${NO_PEER};q=0.5,${AGGREGATED}`, true],
    ["an upper-case profile, which counts as another", `${AGGREGATED};profile=NOPEER`, true],
  ])("for %s (Accept %s) is merged: %s", async (_name, accept, isMerged) => {
    const { status, body, headers } = await member.get("/apis", { accept });
    expect(status).toBe(200);
    expect(body.kind).toBe("APIGroupDiscoveryList");
    expect(headers["content-type"]).toBe(AGGREGATED);
    expect(headers["vary"]).toContain("Accept");
    expect(groupNames(body).includes(EXTRA_GROUP)).toBe(isMerged);
  });

  test.each(["", "application/json", "application/json;foo=bar", "*/*", "application/yaml"])(
    "§8.6-14 §9-18 for Accept %j has the legacy format and is merged, too",
    async (accept) => {
      const { status, text } = await member.call("/apis", { headers: accept === "" ? {} : { accept } });
      expect(status).toBe(200);
      expect(text).toContain("APIGroupList");
      expect(text).toContain(EXTRA_GROUP);
    },
  );

  test("§9-18 includes groups and group versions that only a peer serves", async () => {
    const group = await member.get(`/apis/${EXTRA_GROUP}`);
    expect([group.status, group.body.preferredVersion.version]).toEqual([200, "v1"]);
    const list = await member.get(`/apis/${EXTRA_GROUP}/v1`);
    expect(list.body.resources.map(({ name }: Json) => name)).toEqual(["widgets", "widgets/attach"]);
    expect((await member.get("/apis/nobody.example.com")).status).toBe(404);
  });

  test("§8.6-9 of /apis does not include the core group, and its groups are in the order of the local server", async () => {
    const names = groupNames(await member.discovery("/apis"));
    expect(names).not.toContain("");
    expect(new Set(names).size).toBe(names.length);
    const own = groupNames(await member.discovery("/apis", NO_PEER));
    expect(names.filter((name) => own.includes(name))).toEqual(own);
  });
});

describe("a conditional request", () => {
  test.each(["%s", "W/%s", '"other", %s', "*", '%s , W/"x"'])(
    "§9-35 §8.8-etag with If-None-Match %s returns 304",
    async (form) => {
      const { headers } = await member.get("/apis", { accept: AGGREGATED });
      const condition = form.replace("%s", headers.etag!);
      const again = await member.get("/apis", { accept: AGGREGATED, "if-none-match": condition });
      expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, headers.etag]);
    },
  );

  test("§8.6-5 §8.8-etag needs an ETag that changes when the document of a peer changes, and that returns with the earlier document", async () => {
    const tag = async (): Promise<string> => (await member.get("/apis", { accept: AGGREGATED })).headers.etag!;
    const before = await tag();
    expect(await tag()).toBe(before);
    stub.groups = [...EXTRA_GROUPS, discoveryGroup("more.example.com", [discoveryResource("mores")])];
    const after = await eventually(tag, (etag) => etag !== before);
    expect(resourcesIn(await member.discovery("/apis"))).toContain("more.example.com/v1 mores");
    const outdated = await member.get("/apis", { accept: AGGREGATED, "if-none-match": before });
    expect([outdated.status, outdated.headers.etag]).toEqual([200, after]);
    stub.groups = EXTRA_GROUPS;
    await eventually(tag, (etag) => etag === before);
  });

  test("§8.6-17 is counted by the metrics of discovery requests: cache hits, cache misses and requests with nopeer", async () => {
    const counts = async (): Promise<number[]> =>
      Promise.all(
        ["peer_aggregated_cache_hits", "peer_aggregated_cache_misses", "nopeer_requests"].map((name) =>
          member.metric(`aggregator_discovery_${name}_total`),
        ),
      );
    await member.discovery("/apis");
    const before = await counts();
    for (let turn = 0; turn < 3; turn++) await member.discovery("/apis");
    for (let turn = 0; turn < 2; turn++) await member.discovery("/apis", NO_PEER);
    const after = await counts();
    expect([after[0]! - before[0]! + after[1]! - before[1]!, after[2]! - before[2]!]).toEqual([3, 2]);
  });
});

describe("merged discovery", () => {
  test("§9-21 §8-freshness marks a group version as current if it is stale on one server and current on another", async () => {
    const stale = { metadata: { name: "apps" }, versions: [{ version: "v1", freshness: "Stale", resources: [] }] };
    stub.groups = [...EXTRA_GROUPS, stale];
    await eventually(
      () => stub.discoveryArrivals.length,
      (() => {
        const before = stub.discoveryArrivals.length;
        return (count: number) => count > before + 4;
      })(),
    );
    const apps = (await member.discovery("/apis")).items.find((group: Json) => group.metadata.name === "apps");
    expect(apps.versions[0].freshness).toBe("Current");
    expect(apps.versions[0].resources.length).toBeGreaterThan(0);
    stub.groups = EXTRA_GROUPS;
  });
});

describe("with two releases,", () => {
  test("§9-18 OpenAPI includes a group version that only a peer serves, as kubectl explain requires", async () => {
    await using two = await startCluster([{ release: "1.33" }, { release: "1.34" }]);
    const [old, young] = two.members as [Member, Member];
    const index = await old.get("/openapi/v3");
    expect(Object.keys(index.body.paths)).toContain("apis/resource.k8s.io/v1");
    const { status, body } = await old.get(index.body.paths["apis/resource.k8s.io/v1"].serverRelativeURL);
    expect(status).toBe(200);
    expect(Object.keys(body.components.schemas)).toContain("io.k8s.api.resource.v1.ResourceClaim");
    const v2 = await old.get("/openapi/v2", { accept: "application/json" });
    expect(Object.keys(v2.body.paths)).toContain("/apis/resource.k8s.io/v1/resourceclaims");
    expect(groupNames(await old.discovery("/apis"))).toEqual(groupNames(await young.discovery("/apis")));
  });

  test("§9-19 the preferred version of a group is the first in the Kubernetes version order, on every server", async () => {
    await using two = await startCluster([{ release: "1.28" }, { release: "1.36" }]);
    const preferred = await Promise.all(
      two.members.map(async (server) => (await server.get("/apis/flowcontrol.apiserver.k8s.io")).body),
    );
    expect(preferred.map((group: Json) => group.preferredVersion.version)).toEqual(["v1", "v1"]);
    expect(preferred[0].versions.map(({ version }: Json) => version)).toEqual(["v1", "v1beta3", "v1beta2"]);
  });

  test("--discovery-mode=local lists only local resources, and --discovery-merge-scope=aggregated merges only the aggregated /apis", async () => {
    await using two = await startCluster([
      { release: "1.32", peers: { discoveryMode: "local" } },
      { release: "1.33" },
      { release: "1.32", peers: { discoveryMergeScope: "aggregated" } },
    ]);
    const [local, , aggregated] = two.members as [Member, Member, Member];
    const path = "networking.k8s.io/v1 servicecidrs";
    expect(resourcesIn(await local.discovery("/apis"))).not.toContain(path);
    expect(resourcesIn(await aggregated.discovery("/apis"))).toContain(path);
    expect(JSON.stringify(await aggregated.discovery("/api"))).not.toContain("resize");
    expect((await aggregated.get("/apis/networking.k8s.io/v1")).text).not.toContain("servicecidrs");
  });
});

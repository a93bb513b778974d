/**
 * Tests of how a server reads the discovery documents of its peers, of any release and with any failure (§8.2, §9-14 to
 * -16, -34 to -36).
 */
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { AGGREGATED, groupNames, resourcesIn, type Json } from "./client.ts";
import { SHORT_LEASES, startCluster, TestCluster, UNPROBED, type Member } from "./cluster.ts";
import {
  discoveryGroup,
  discoveryResource,
  endpoints,
  EXTRA_GROUP,
  EXTRA_GROUPS,
  LEASES,
  OLD_GROUPS,
  OLD_JOBS,
  sendDocument,
  sendJson,
  startStub,
  withdrawAddress,
  StubPeer,
  WIDGETS,
  type Respond,
} from "./stub-peer.ts";
import { protobufMasterLease } from "./stored-endpoints.ts";
import { eventually, until } from "./wait.ts";

const FETCH_ERRORS = 'apiserver_peer_discovery_sync_errors_total{type="fetch_discovery"}';
const WIDGET_LIST = "widgets";

async function known(member: Member, id: string): Promise<void> {
  await eventually(
    () => member.view.peers.some((peer) => peer.id === id),
    (isKnown) => isKnown,
  );
}

describe("a kube-apiserver", () => {
  test("§8.2-1 is asked for its local discovery document by a server that uses its own identity", async () => {
    await using cluster = await startCluster([{}]);
    const { member, stub } = await startStub(cluster);
    expect(new Set(stub.discoveryArrivals.map(({ url }) => url))).toEqual(new Set(["/api", "/apis"]));
    const [first] = stub.discoveryArrivals;
    expect(first!.all("accept")[0]!.split(",").slice(0, 2)).toEqual([`${AGGREGATED};profile=nopeer`, AGGREGATED]);
    expect(first!.all("accept")[0]!.split(",").at(-1)).toBe("application/json");
    expect(first!.all("X-Remote-User")).toEqual(["system:apiserver"]);
    expect(first!.all("X-Remote-Uid")).toEqual(["system:apiserver"]);
    expect(first!.all("X-Remote-Group")).toEqual(["system:authenticated"]);
    expect(first!.all("x-kubernetes-peer-proxied")).toEqual(["true"]);
    expect((await member.get(WIDGETS)).headers["x-evenkeel-served-by"]).toBe(
      "stub (kube-apiserver); reason=served-by-peer",
    );
  });

  test("§8.2-2 is described beside another kube-apiserver", async () => {
    await using cluster = await startCluster([{}]);
    const { member } = await startStub(cluster);
    await startStub(cluster, { id: "stub2", groups: [discoveryGroup("two.example.com", [discoveryResource("twos")])] });
    expect(groupNames(await member.discovery("/apis"))).toEqual(
      expect.arrayContaining([EXTRA_GROUP, "two.example.com"]),
    );
    expect((await member.get("/apis/two.example.com/v1/twos")).status).toBe(200);
  });

  test("§8.2-3 §9-16 that has restarted stays described by its previous document until the new document is read", async () => {
    await using cluster = await startCluster([{}]);
    const { member, stub } = await startStub(cluster);
    stub.groups = [...EXTRA_GROUPS, discoveryGroup("new.example.com", [discoveryResource("news")])];
    const patch = JSON.stringify({ spec: { holderIdentity: "stub_1" } });
    const headers = { "content-type": "application/merge-patch+json" };
    expect((await member.call(`${LEASES}/stub`, { method: "PATCH", body: patch, headers })).status).toBe(200);
    const responses = await until(
      async () => [(await member.get(WIDGETS)).status, (await member.get("/apis/new.example.com/v1/news")).status],
      ([, status]) => status === 200,
    );
    expect(new Set(responses.map(([status]) => status))).toEqual(new Set([200]));
    // The new resource returns 404 before the restart of the stub is noticed, and 503 until the new document is read.
    expect(responses.every(([, status]) => status === 200 || status === 503 || status === 404)).toBe(true);
  });

  test("§8.2-4 §9-3 §8-last-peer that has departed leaves discovery at once, and requests for its resources return 503 during the grace period", async () => {
    await using cluster = await startCluster([{ peers: { timing: { ...SHORT_LEASES, departedGraceMs: 2_500 } } }]);
    const { member, stub } = await startStub(cluster, { groups: [...OLD_GROUPS, ...EXTRA_GROUPS] });
    expect(groupNames(await member.discovery("/apis"))).toContain(EXTRA_GROUP);
    await stub.leave(member);
    await eventually(
      () => member.view.peers.length,
      (count) => count === 0,
    );
    expect(groupNames(await member.discovery("/apis"))).not.toContain(EXTRA_GROUP);
    const responses = await until(
      () => member.get(OLD_JOBS),
      ({ status }) => status === 404,
    );
    const before = responses.slice(0, -1);
    expect(new Set(before.map(({ status }) => status))).toEqual(new Set([503]));
    expect(new Set(before.map(({ body }) => body.message)).size).toBe(1);
    expect(before[0]!.body.message).toMatch(/was last served by stub, which departed at /);
  });

  test("that has departed leaves no custom resources behind, and a server that restarts reports the same departure", async () => {
    await using cluster = await startCluster([{ peers: { timing: SHORT_LEASES } }]);
    const { member, stub } = await startStub(cluster, {
      groups: [...OLD_GROUPS, ...EXTRA_GROUPS],
      version: { major: "1", minor: "33", gitVersion: "v1.33.13" },
    });
    expect((await member.get(WIDGETS)).headers["x-evenkeel-served-by"]).toContain("stub (kube-apiserver 1.33)");
    await stub.leave(member);
    await eventually(
      () => member.view.peers.length,
      (count) => count === 0,
    );
    const first = await member.get(OLD_JOBS);
    expect(first.body.message).toMatch(/was last served by stub \(1\.33\), which departed at /);
    await eventually(
      () => cluster.kv.range({ start: "/registry/evenkeel/served/stub/0" }),
      ({ count }) => count === 1,
    );
    await member.stop();
    const again = await cluster.start({ id: member.id, peers: { timing: SHORT_LEASES } });
    expect((await again.get(OLD_JOBS)).body.message).toBe(first.body.message);
    expect((await again.get(WIDGETS)).status).toBe(404);
  });

  test("with a masterlease but without an endpoint record is called at the address of the masterlease and the port of the kubernetes Service", async () => {
    await using cluster = await startCluster([{}]);
    const [member] = cluster.members as [Member];
    const version = { major: "1", minor: "33", gitVersion: "v1.33.13" };
    const host = "127.0.0.2";
    const stub = await StubPeer.start(cluster, member, { id: "stub", record: "none", host, version });
    const ports = [{ name: "https", port: stub.port, protocol: "TCP" }];
    const subsets = [{ addresses: [{ ip: host }], ports }];
    const metadata = { name: "kubernetes", namespace: "default" };
    await cluster.put(
      "/registry/services/endpoints/default/kubernetes",
      JSON.stringify({ kind: "Endpoints", apiVersion: "v1", metadata, subsets }),
    );
    await cluster.put(`/registry/masterleases/${host}`, protobufMasterLease(host));
    await member.knows("stub");
    const { status, headers } = await member.get(WIDGETS);
    const called = `${host}:${stub.port}`;
    expect([status, headers["x-evenkeel-served-by"]]).toEqual([
      200,
      `${called} (kube-apiserver 1.33); reason=served-by-peer`,
    ]);
    const unknown = await member.get("/apis/unknown.example.com/v1/things");
    expect([unknown.status, unknown.text.includes("stub")]).toEqual([404, false]);
    const { servers } = (await member.get("/evenkeel/v1/status")).body;
    expect(servers[1]).toMatchObject({ id: "stub", release: "1.33", address: `${host}:${stub.port}` });
    expect(servers[1].lacks[0]).toMatch(/^writes no endpoint record/);
    await cluster.remove(`/registry/masterleases/${host}`);
    await stub.leave(member);
    await eventually(
      () => member.view.peers.length,
      (count) => count === 0,
    );
    expect((await member.get(WIDGETS)).status).toBe(404);
  });

  test("of an older release makes other servers store objects in versions that its release can read", async () => {
    const options = { strictRelease: false, featureGates: [], runtimeConfig: [] };
    await using cluster = await startCluster([{ release: "1.36", options }]);
    const [member] = cluster.members as [Member];
    const entries = async (): Promise<Json[]> => {
      const path = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions/resource.k8s.io.deviceclasses";
      return (await member.get(path)).body.status?.storageVersions ?? [];
    };
    expect(await entries()).toMatchObject([{ encodingVersion: "resource.k8s.io/v1" }]);
    await startStub(cluster, {
      groups: [discoveryGroup("resource.k8s.io", [discoveryResource("deviceclasses")], "v1beta1")],
      version: { major: "1", minor: "33", gitVersion: "v1.33.13" },
    });
    const agreed = await eventually(entries, ([own]) => own?.encodingVersion !== "resource.k8s.io/v1");
    expect(agreed).toMatchObject([
      { apiServerID: "a", encodingVersion: "resource.k8s.io/v1beta2" },
      { apiServerID: "stub", encodingVersion: "resource.k8s.io/v1beta1" },
    ]);
  });

  test("§8.2-5 §9-13 with a lease but without an endpoint record gets no request, and requests for its resources return 503", async () => {
    await using cluster = await startCluster([{}]);
    const [member] = cluster.members as [Member];
    const stub = await StubPeer.start(cluster, member, { id: "stub", record: "none" });
    await known(member, "stub");
    const response = await member.get(WIDGETS);
    expect([response.status, response.body.message]).toEqual([
      503,
      `a does not serve ${EXTRA_GROUP}/v1, widgets, and stub has not yet published what it serves (no address published)`,
    ]);
    expect(stub.discoveryArrivals).toEqual([]);
    expect(await member.metric('apiserver_peer_discovery_sync_errors_total{type="hostport_resolution"}')).toBe(1);
  });

  test("that withdraws its address is not called, and a request that only it serves counts as endpoint_resolution", async () => {
    await using cluster = await startCluster([{}]);
    const { member } = await startStub(cluster);
    await withdrawAddress(cluster, "stub");
    await eventually(
      () => member.view.peers.map(({ address }) => address),
      ([address]) => address === undefined,
    );
    const response = await member.get(WIDGETS);
    const reason = `${EXTRA_GROUP}/v1, widgets is served by stub, which has not published its address`;
    expect([response.status, response.body.message]).toEqual([503, reason]);
    const labels = `group="${EXTRA_GROUP}",version="v1",resource="widgets"`;
    expect(await member.metric(`apiserver_peer_proxy_errors_total{type="endpoint_resolution",${labels}}`)).toBe(1);
  });

  test("§8.2-6 that returns 500 for its discovery document is retried, and until it responds requests return 503, not 404", async () => {
    await using cluster = await startCluster([{}]);
    const [member] = cluster.members as [Member];
    const stub = await StubPeer.start(cluster, member, {
      id: "stub",
      discovery: (_request, response) => void response.writeHead(500).end("no"),
    });
    const responses = await until(
      async () => ({ status: (await member.get(WIDGETS)).status, failed: await member.metric(FETCH_ERRORS) }),
      ({ failed }) => failed >= 3,
    );
    await known(member, "stub");
    stub.discovery = undefined;
    await member.knows("stub");
    expect((await member.get(WIDGETS)).status).toBe(200);
    expect(responses.slice(1).every(({ status }) => status === 503)).toBe(true);
  });

  test("§8.2-6 that does not use TLS is counted as a failed discovery request", async () => {
    await using cluster = await startCluster([{}]);
    const [member] = cluster.members as [Member];
    const plain = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n").on("error", () => {}));
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
    cluster.defer(async () => void plain.close());
    const { port } = plain.address() as { port: number };
    await StubPeer.start(cluster, member, {
      id: "stub",
      record: () => Buffer.from(JSON.stringify(endpoints("stub", port))),
    });
    await eventually(
      () => member.metric(FETCH_ERRORS),
      (count) => count >= 2,
    );
    expect((await member.get(WIDGETS)).status).toBe(503);
  });
});

describe("a peer", () => {
  const legacy: Respond = (request, response) => {
    const verbs = ["get", "list"];
    const widgets = { name: WIDGET_LIST, kind: "Widget", singularName: "widget", namespaced: false, verbs };
    const lists: Record<string, Json> = {
      "/api": { kind: "APIVersions", versions: ["v1"] },
      "/api/v1": { kind: "APIResourceList", groupVersion: "v1", resources: [] },
      "/apis": {
        kind: "APIGroupList",
        groups: [{ name: EXTRA_GROUP, versions: [{ groupVersion: `${EXTRA_GROUP}/v1`, version: "v1" }] }],
      },
      [`/apis/${EXTRA_GROUP}/v1`]: {
        kind: "APIResourceList",
        groupVersion: `${EXTRA_GROUP}/v1`,
        resources: [widgets, { ...widgets, name: "widgets/status", verbs: ["get"] }],
      },
    };
    sendJson(response, 200, lists[request.url!]);
  };
  const forms: readonly (readonly [string, Respond])[] = [
    ["v2beta1", (request, response) => sendDocument(response, request.url === "/api" ? [] : EXTRA_GROUPS, "v2beta1")],
    ["the legacy format", legacy],
  ];
  test.each(forms)("§9-35 that supports only %s is described", async (_form, discovery) => {
    await using cluster = await startCluster([{}]);
    const { member } = await startStub(cluster, { discovery });
    expect((await member.get(WIDGETS)).status).toBe(200);
    expect(resourcesIn(await member.discovery("/apis"))).toContain(`${EXTRA_GROUP}/v1 widgets`);
  });

  test("§9-34 §8-api-only whose /api fails is retried, and its partial document is not used", async () => {
    await using cluster = await startCluster([{}]);
    const [member] = cluster.members as [Member];
    let isBroken = true;
    const stub = await StubPeer.start(cluster, member, {
      id: "stub",
      discovery: (request, response) =>
        isBroken && request.url === "/api"
          ? void response.writeHead(500).end()
          : sendDocument(response, request.url === "/api" ? [] : EXTRA_GROUPS),
    });
    await eventually(
      () => member.metric(FETCH_ERRORS),
      (count) => count >= 2,
    );
    expect((await member.get(WIDGETS)).status).toBe(503);
    isBroken = false;
    await member.knows("stub");
    expect((await member.get(WIDGETS)).status).toBe(200);
    expect(stub.arrivals).toHaveLength(1);
  });

  test("§9-34 whose /apis fails is retried", async () => {
    await using cluster = await startCluster([{}]);
    const [member] = cluster.members as [Member];
    let isBroken = true;
    await StubPeer.start(cluster, member, {
      id: "stub",
      discovery: (request, response) =>
        isBroken && request.url === "/apis"
          ? void response.writeHead(500).end()
          : sendDocument(response, request.url === "/api" ? [] : EXTRA_GROUPS),
    });
    await eventually(
      () => member.metric(FETCH_ERRORS),
      (count) => count >= 2,
    );
    isBroken = false;
    await member.knows("stub");
  });

  const nonsense: readonly (readonly [string, string | Buffer])[] = [
    ["malformed JSON", "<html>"],
    ["another kind", '{"kind":"Pod"}'],
    ["null", "null"],
    ["groups that are numbers", '{"kind":"APIGroupDiscoveryList","items":[1,2]}'],
    ["bytes", Buffer.from([0xff, 0xfe, 0x00])],
  ];
  test.each(nonsense)("§9-35 that returns %s does not count as described, and is retried", async (_what, body) => {
    await using cluster = await startCluster([{}]);
    const [member] = cluster.members as [Member];
    const stub = await StubPeer.start(cluster, member, {
      id: "stub",
      discovery: (_request, response) => void response.writeHead(200, { "content-type": "application/json" }).end(body),
    });
    await eventually(
      () => member.metric(FETCH_ERRORS),
      (count) => count >= 2,
    );
    expect(member.view.peers[0]!.isDescribed).toBe(false);
    stub.discovery = undefined;
    await member.knows("stub");
  });
});

describe("discovery of peers", () => {
  test("§9-15 §9-35 is repeated while the peer is live, with the ETag of the last document", async () => {
    await using cluster = await startCluster([{ peers: { timing: { documentRefreshMs: 50, probeIntervalMs: 50 } } }]);
    let changes = 0;
    const discovery: Respond = (request, response) => {
      const etag = `"${request.url}-${changes}"`;
      if (request.headers["if-none-match"] === etag) return void response.writeHead(304, { etag }).end();
      response.setHeader("etag", etag);
      const names = Array.from({ length: changes + 1 }, (_, at) => (at === 0 ? "widgets" : `widget${at}s`));
      return sendDocument(
        response,
        request.url === "/api"
          ? []
          : [
              discoveryGroup(
                EXTRA_GROUP,
                names.map((name) => discoveryResource(name)),
              ),
            ],
      );
    };
    const { member, stub } = await startStub(cluster, { discovery });
    await eventually(
      () => stub.discoveryArrivals.filter((seen) => seen.all("if-none-match").length === 1).length,
      (count) => count >= 4,
    );
    changes++;
    await eventually(
      () => member.get(`/apis/${EXTRA_GROUP}/v1/widget1s`),
      ({ status }) => status === 200,
    );
    expect(await member.metric(FETCH_ERRORS)).toBe(0);
  });

  test("§9-14 is not delayed by a hanging peer, whose request is canceled at a deadline", async () => {
    await using cluster = await startCluster([{ peers: { timing: { documentTimeoutMs: 300, probeIntervalMs: 50 } } }]);
    const [member] = cluster.members as [Member];
    await StubPeer.start(cluster, member, { id: "hanging", discovery: () => {} });
    await startStub(cluster);
    expect((await member.get(WIDGETS)).status).toBe(200);
    await eventually(
      () => member.metric(FETCH_ERRORS),
      (count) => count >= 1,
    );
    const unknown = await member.get("/apis/nobody.example.com/v1/things");
    expect([unknown.status, unknown.body.details.causes]).toEqual([
      503,
      expect.arrayContaining([{ field: "peer", message: "hanging" }]),
    ]);
  });

  test("§9-14 §8-many of thirty peers sends only a few requests to each peer", async () => {
    await using cluster = await startCluster([{ peers: { timing: UNPROBED } }]);
    const [member] = cluster.members as [Member];
    const ids = Array.from({ length: 30 }, (_, at) => `stub${at}`);
    const stubs = await Promise.all(
      ids.map((id) =>
        StubPeer.start(cluster, member, {
          id,
          groups: [discoveryGroup(`${id}.example.com`, [discoveryResource("widgets")])],
        }),
      ),
    );
    await member.knows(...ids);
    const responses = await Promise.all(ids.map((id) => member.get(`/apis/${id}.example.com/v1/widgets`)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    const asked = stubs.map((stub) => stub.discoveryArrivals.length);
    expect(Math.max(...asked)).toBeLessThanOrEqual(8);
    expect(stubs.every((stub) => stub.arrivals.length === 1)).toBe(true);
  });

  test("§9-36 returns the local document to an authenticated peer and the merged document to a client", async () => {
    await using cluster = await startCluster([{}]);
    const { member } = await startStub(cluster);
    const headers = { "x-remote-user": "system:apiserver", accept: AGGREGATED };
    const { body, headers: got } = await member.call("/apis", { asProxy: true, token: "", headers });
    expect(groupNames(body)).not.toContain(EXTRA_GROUP);
    expect(got["x-evenkeel-server-id"]).toBe("a");
    expect(got["x-evenkeel-server-run"]).toMatch(/^[0-9a-f-]{36}$/);
    const asClient = await member.get("/apis", { accept: AGGREGATED });
    expect(groupNames(asClient.body)).toContain(EXTRA_GROUP);
    expect(asClient.headers["x-evenkeel-server-id"]).toBeUndefined();
    expect(asClient.headers["x-evenkeel-server-run"]).toBeUndefined();
  });

  test("§9-6 is complete when a server becomes ready, so that the server does not return 404 for resources of a peer", async () => {
    await using cluster = await startCluster([{}]);
    await startStub(cluster);
    const second = await cluster.start();
    expect((await second.get(WIDGETS)).status).toBe(200);
  });

  test("§9-6 §8.1-3 is not complete in a starting server, which returns 503 with Retry-After for unknown resources", async () => {
    await using cluster = new TestCluster();
    const first = await cluster.start({ isStoreStalled: true, skipReady: true });
    const response = await first.get(WIDGETS);
    expect([response.status, response.headers["retry-after"], response.body.message]).toEqual([
      503,
      "1",
      "a does not know its peers yet",
    ]);
    expect((await first.get("/readyz")).status).toBe(500);
    first.resumeStore();
    await first.listening.server.ready;
    expect((await first.get(WIDGETS)).status).toBe(404);
  });

  test("§9-33 does not delay the document with profile=nopeer, which lists the server's own resources before it is ready", async () => {
    await using cluster = new TestCluster();
    const member = await cluster.start({ skipReady: true });
    expect(groupNames(await member.discovery("/apis", ";profile=nopeer"))).toContain("apps");
    await member.listening.server.ready;
  });
});

/**
 * Tests of routing for subresources, verbs and selectors, and of requests that are never proxied (§8.1, §8.3, §9-17).
 */
import { describe, expect, test } from "vitest";
import { AGGREGATED, type Json } from "./client.ts";
import {
  ROUTING_SOURCES,
  startCluster as start,
  type Member,
  type MemberOptions,
  type TestCluster,
} from "./cluster.ts";
import {
  discoveryGroup,
  discoveryResource,
  EXTRA_GROUP,
  sendJson,
  startStub,
  WIDGETS,
  WIDGETS_LABELS,
} from "./stub-peer.ts";

const PODS = "/api/v1/namespaces/default/pods";
const POD: Json = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "one" },
  spec: { containers: [{ name: "main", image: "main" }] },
};

describe.each(ROUTING_SOURCES)("with routing source %s,", (source) => {
  const startCluster = (members: readonly MemberOptions[]): Promise<TestCluster> => start(members, source);

  async function mixed(
    older: string,
    newer: string,
  ): Promise<{ cluster: AsyncDisposable; old: Member; young: Member }> {
    const cluster = await startCluster([{ release: older }, { release: newer }]);
    const [old, young] = cluster.members as [Member, Member];
    return { cluster, old, young };
  }

  describe("subresources:", () => {
    test("§9-17 §8-subresource pods/resize is proxied to the server that serves it, while pods are served locally", async () => {
      const { cluster, old } = await mixed("1.32", "1.33");
      await using _ = cluster;
      expect((await old.create(PODS, POD)).headers["x-evenkeel-served-by"]).toBeUndefined();
      const resized = await old.get(`${PODS}/one/resize`);
      expect([resized.status, resized.body.kind]).toEqual([200, "Pod"]);
      expect(resized.headers["x-evenkeel-served-by"]).toBe("b (1.33); reason=served-by-peer");
      const patch = JSON.stringify({ spec: { containers: [{ name: "main", image: "main" }] } });
      const headers = { "content-type": "application/merge-patch+json" };
      const patched = await old.call(`${PODS}/one/resize`, { method: "PATCH", body: patch, headers });
      expect([patched.status, patched.headers["x-evenkeel-served-by"]]).toEqual([
        200,
        "b (1.33); reason=served-by-peer",
      ]);
      expect((await old.get(`${PODS}/one/status`)).headers["x-evenkeel-served-by"]).toBeUndefined();
    });

    test("§9-18 discovery of both servers contains pods/resize in /api, in every format", async () => {
      const { cluster, old, young } = await mixed("1.32", "1.33");
      await using _ = cluster;
      for (const server of [old, young]) {
        const pods = (await server.discovery("/api")).items[0].versions[0].resources.find(
          (resource: Json) => resource.resource === "pods",
        );
        expect(pods.subresources.map((below: Json) => below.subresource)).toContain("resize");
        const { body } = await server.get("/api/v1");
        expect(body.resources.map((resource: Json) => resource.name)).toContain("pods/resize");
      }
      const local = await old.discovery("/api", ";profile=nopeer");
      expect(JSON.stringify(local)).not.toContain("resize");
    });

    test("a subresource that no server serves returns 404", async () => {
      const { cluster, old } = await mixed("1.32", "1.33");
      await using _ = cluster;
      const response = await old.get(`${PODS}/one/nothing`);
      expect([response.status, response.headers["x-evenkeel-served-by"]]).toEqual([404, undefined]);
    });
  });

  describe("verbs and selectors:", () => {
    test("§9-17 §8.6-11 a request with a verb that only a peer supports is proxied, and discovery lists the verbs of all servers", async () => {
      await using cluster = await startCluster([{}]);
      const groups = [
        discoveryGroup("coordination.k8s.io", [discoveryResource("leases", { verbs: ["get", "special"] })]),
        discoveryGroup("authorization.k8s.io", [discoveryResource("subjectaccessreviews", { verbs: ["list"] })]),
      ];
      const { member, stub } = await startStub(cluster, { groups });
      const reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
      expect((await member.get(reviews)).headers["x-evenkeel-served-by"]).toContain("stub");
      expect((await member.create(reviews, {})).headers["x-evenkeel-served-by"]).toBeUndefined();
      expect(stub.arrivals.map(({ method, url }) => `${method} ${url}`)).toEqual([`GET ${reviews}`]);
      const { body } = await member.get("/apis", { accept: AGGREGATED });
      const leases = body.items
        .find((group: Json) => group.metadata.name === "coordination.k8s.io")
        .versions[0].resources.find((resource: Json) => resource.resource === "leases");
      expect(leases.verbs).toEqual(expect.arrayContaining(["create", "get", "list", "special"]));
      expect(leases.verbs).toEqual(leases.verbs.toSorted());
    });

    test("§9-17 a request with a verb that no server supports returns 405 from a server that serves the resource", async () => {
      await using cluster = await startCluster([{}]);
      const { member, stub } = await startStub(cluster, {
        groups: [discoveryGroup(EXTRA_GROUP, [discoveryResource("widgets", { verbs: ["get", "list"] })])],
        respond: (request, response) => sendJson(response, request.method === "GET" ? 200 : 405, { kind: "Status" }),
      });
      expect((await member.create(WIDGETS, {})).status).toBe(405);
      expect(stub.arrivals.map(({ method }) => method)).toEqual(["POST"]);
    });

    test("a list with a field selector that only the newer release supports is proxied to it: spec.clusterIP, 1.30 and 1.31", async () => {
      const { cluster, old, young } = await mixed("1.30", "1.31");
      await using _ = cluster;
      const path = "/api/v1/services?fieldSelector=spec.clusterIP%3D10.0.0.99";
      const response = await old.get(path);
      expect([response.status, response.headers["x-evenkeel-served-by"]]).toEqual([
        200,
        "b (1.31); reason=peer-supports-it",
      ]);
      expect((await young.get(path)).headers["x-evenkeel-served-by"]).toBeUndefined();
      expect((await old.get("/api/v1/services?fieldSelector=spec.nothing%3Dx")).status).toBe(400);
    });

    test("with --peer-routing=documents an unsupported selector is rejected locally", async () => {
      await using cluster = await startCluster([
        { release: "1.30", peers: { routing: "documents" } },
        { release: "1.31" },
      ]);
      const [old] = cluster.members as [Member];
      expect((await old.get("/api/v1/services?fieldSelector=spec.clusterIP%3D10.0.0.99")).status).toBe(400);
    });
  });

  describe("local requests:", () => {
    test.each(["/foo/bar/baz", "/healthz", "/version", "/metrics", "/openapi/v2"])(
      "§8.1-1 %s is not a resource request and is not proxied",
      async (path) => {
        await using cluster = await startCluster([{}]);
        const { member, stub } = await startStub(cluster);
        const response = await member.get(path);
        expect(response.headers["x-evenkeel-served-by"]).toBeUndefined();
        expect(stub.arrivals.filter(({ url }) => url === path && path !== "/openapi/v2")).toEqual([]);
      },
    );

    test("§8.1-2 §8.3-1 §8.1-4 requests from a peer and requests for locally served resources are served locally", async () => {
      await using cluster = await startCluster([{}]);
      const { member, stub } = await startStub(cluster, {
        groups: [discoveryGroup("apps", [discoveryResource("deployments")])],
      });
      const guarded = { "x-remote-user": "jane", "x-kubernetes-peer-proxied": "true" };
      const handedOn = await member.call("/apis/apps/v1/deployments", { asProxy: true, token: "", headers: guarded });
      expect(handedOn.status).toBe(200);
      expect((await member.get("/apis/apps/v1/deployments")).status).toBe(200);
      expect(stub.arrivals).toEqual([]);
    });

    test("§8.1-5 §8.3-3 a request for a resource that no server serves returns 404 after every peer has published its document", async () => {
      await using cluster = await startCluster([{}]);
      const { member, stub } = await startStub(cluster);
      expect((await member.get(`/apis/${EXTRA_GROUP}/v1/gadgets`)).status).toBe(404);
      expect((await member.get(`/apis/${EXTRA_GROUP}/v2/widgets`)).status).toBe(404);
      expect(stub.arrivals).toEqual([]);
    });

    test("§8.3-2 §9-21 a group version that a peer marks as stale does not count as served by the peer", async () => {
      await using cluster = await startCluster([{}]);
      const stale = discoveryGroup(EXTRA_GROUP, [discoveryResource("widgets")]);
      stale.versions[0].freshness = "Stale";
      const { member, stub } = await startStub(cluster, { groups: [stale] });
      expect((await member.get(WIDGETS)).status).not.toBe(200);
      expect(stub.arrivals).toEqual([]);
    });

    test("a user without permission is rejected locally, whatever a peer would return", async () => {
      await using cluster = await startCluster([{ options: { access: {} } }]);
      const { member, stub } = await startStub(cluster);
      expect((await member.call(WIDGETS, { token: "" })).status).toBe(403);
      expect((await member.call(WIDGETS, { token: "jane-token" })).status).toBe(403);
      expect(stub.arrivals).toEqual([]);
    });
  });

  describe("for operators,", () => {
    test("§9-25 §8.1-7 all documented metrics exist, including those of latency, peers, document ages and probes", async () => {
      await using cluster = await startCluster([{}]);
      const { member } = await startStub(cluster);
      await member.get(WIDGETS);
      await member.get("/apis", { accept: AGGREGATED });
      await member.get("/apis", { accept: `${AGGREGATED};profile=nopeer` });
      const { text } = await member.get("/metrics");
      for (const name of [
        "apiserver_rerouted_request_total",
        "kubernetes_apiserver_rerouted_request_total",
        "apiserver_peer_proxy_errors_total",
        "apiserver_peer_discovery_sync_errors_total",
        "aggregator_discovery_peer_aggregated_cache_hits_total",
        "aggregator_discovery_peer_aggregated_cache_misses_total",
        "aggregator_discovery_nopeer_requests_total",
        "aggregator_discovery_aggregation_count_total",
        "evenkeel_peer_request_duration_seconds",
        "evenkeel_peer_probe_failures_total",
        "evenkeel_peers",
        "evenkeel_peer_document_age_seconds",
      ])
        expect(text).toContain(`# TYPE ${name} `);
      expect(await member.metric(`apiserver_rerouted_request_total{code="200",${WIDGETS_LABELS}}`)).toBe(1);
      expect(await member.metric('evenkeel_peers{state="reachable"}')).toBe(1);
      expect(await member.metric('evenkeel_peer_request_duration_seconds_count{peer="stub"}')).toBe(1);
      // The metric does not count requests that a server sends on its own behalf.
      expect(text).not.toMatch(/apiserver_rerouted_request_total\{[^}]*resource=""/);
    });

    test("§9-6 the post-start hooks have the names of kube-apiserver's hooks", async () => {
      await using cluster = await startCluster([{}]);
      const { text } = await cluster.members[0]!.get("/readyz?verbose");
      for (const hook of [
        "start-kube-apiserver-identity-lease-controller",
        "start-kube-apiserver-identity-lease-garbage-collector",
        "local-discovery-cache-sync",
        "mixed-version-proxy-handler",
        "peer-discovery-workers",
        "peer-endpoint-reconciler-controller",
      ])
        expect(text).toContain(`[+]poststarthook/${hook} ok`);
    });
  });
});

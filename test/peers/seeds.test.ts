/**
 * The integration tests that the two designs of the mixed version proxy list (seed-000: the first design, seed-003: the
 * second), and kube-apiserver's own tests of servers that share a store (§8.5).
 */
import { describe, expect, test } from "vitest";
import { type PeerResponse, type Json, AGGREGATED, groupNames, NO_PEER, resourcesIn } from "./client.ts";
import { SHORT_LEASES, startCluster, TestCluster, UNPROBED, type Member } from "./cluster.ts";
import type { PeerOptions } from "../../src/cluster/peers/peer-config.ts";
import { startConnectProxy } from "./connect-proxy.ts";
import { eventually, until } from "./wait.ts";

const JOBS = "/apis/batch/v1/namespaces/default/jobs";
const WITHOUT_BATCH = "batch/v1=false";

function job(name: string): Json {
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "main" }] } };
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec: { template } };
}

function names({ body }: PeerResponse): string[] {
  return body.items.map((item: Json) => item.metadata.name);
}

function statuses(responses: readonly PeerResponse[]): number[] {
  return [...new Set(responses.map(({ status }) => status))].toSorted((left, right) => left - right);
}

async function twoServers(peers: Partial<PeerOptions> = {}): Promise<{ cluster: TestCluster; a: Member; b: Member }> {
  const cluster = await startCluster([{}, { runtimeConfig: WITHOUT_BATCH, peers }]);
  const [a, b] = cluster.members as [Member, Member];
  return { cluster, a, b };
}

describe("routing:", () => {
  test("seed-003 §8.5-1 a request is proxied to a server that can handle it", async () => {
    const { cluster, a, b } = await twoServers();
    await using _ = cluster;
    expect((await a.create(JOBS, job("one"))).status).toBe(201);
    const listed = await b.get(JOBS);
    expect([listed.status, names(listed)]).toEqual([200, ["one"]]);
    expect(listed.headers["x-evenkeel-served-by"]).toBe("a (1.36); reason=served-by-peer");
    expect((await b.create(JOBS, job("two"))).status).toBe(201);
    expect(names(await a.get(JOBS))).toEqual(["one", "two"]);
    expect((await b.delete(`${JOBS}/two?propagationPolicy=Background`)).status).toBe(200);
    expect((await b.get(`${JOBS}/two`)).body.reason).toBe("NotFound");
  });

  test("seed-003 §8.5-2 a third server serves requests after the first has crashed, and no client gets 404 meanwhile", async () => {
    const peers = { timing: SHORT_LEASES };
    await using cluster = await startCluster([{ peers }, { peers, runtimeConfig: WITHOUT_BATCH }, { peers }]);
    const [a, b] = cluster.members as [Member, Member];
    await a.create(JOBS, job("one"));
    a.crash();
    const responses: PeerResponse[] = [];
    const ask = async (): Promise<PeerResponse> => {
      const response = await b.get(JOBS);
      responses.push(response);
      return response;
    };
    await until(ask, () => !b.view.peers.some(({ id }) => id === "a"));
    const last = await ask();
    expect([last.status, names(last)]).toEqual([200, ["one"]]);
    // No client gets 503 either: no request was sent to the crashed server, so each could be sent to the third server.
    expect(statuses(responses)).toEqual([200]);
    expect(responses.every((answer) => names(answer).join() === "one")).toBe(true);
    expect(last.headers["x-evenkeel-served-by"]).toContain("c (1.36)");
  });

  test("seed-003 another peer serves the requests while the first peer is live but unreachable", async () => {
    await using cluster = await startCluster([{}, { runtimeConfig: WITHOUT_BATCH }, {}]);
    const [a, b, c] = cluster.members as [Member, Member, Member];
    c.link.cut();
    for (let turn = 0; turn < 10; turn++) {
      const response = await b.get(JOBS);
      expect([response.status, response.headers["x-evenkeel-served-by"]]).toEqual([
        200,
        "a (1.36); reason=served-by-peer",
      ]);
    }
    await b.knows("a");
    c.link.mend();
    await b.knows("a", "c");
    a.link.cut();
    expect((await b.get(JOBS)).headers["x-evenkeel-served-by"]).toContain("c (1.36)");
  });

  test("seed-000 §8.5-3 requests to peers use the egress proxy at a unix socket", async () => {
    await using cluster = new TestCluster();
    const proxy = await startConnectProxy(cluster, `${cluster.files.directory}/egress.sock`);
    const transport = { uds: { udsName: proxy.path } };
    await proxiedThrough(cluster, transport, () => proxy.targets);
  });

  test('§8.5-3 requests to peers use the egress proxy at a TCP port that the egress selection "peer" names', async () => {
    await using cluster = new TestCluster();
    const proxy = await startConnectProxy(cluster, 0);
    await proxiedThrough(cluster, { tcp: { url: `http://127.0.0.1:${proxy.port}` } }, () => proxy.targets, "peer");
  });
});

async function proxiedThrough(
  cluster: TestCluster,
  transport: Json,
  targets: () => readonly string[],
  name = "controlplane",
): Promise<void> {
  const connection = { proxyProtocol: "HTTPConnect", transport };
  const egress = {
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [{ name, connection }],
  };
  const a = await cluster.start();
  const b = await cluster.start({ runtimeConfig: WITHOUT_BATCH, peers: { egress } });
  await b.knows("a");
  await a.create(JOBS, job("one"));
  expect(names(await b.get(JOBS))).toEqual(["one"]);
  expect(new Set(targets())).toEqual(new Set([`127.0.0.1:${a.link.port}`]));
}

describe("the feature gate of the proxy", () => {
  test("seed-003 §8.6-1 if off makes a server return 404 and local discovery, and if on again makes it proxy requests", async () => {
    await using cluster = new TestCluster();
    await cluster.start();
    const off = await cluster.start({ id: "b", runtimeConfig: WITHOUT_BATCH, gate: false });
    const rejected = await off.get(JOBS);
    expect([rejected.status, rejected.text]).toEqual([404, "404 page not found\n"]);
    expect(groupNames(await off.discovery("/apis"))).not.toContain("batch");
    expect(groupNames(await off.discovery("/apis", NO_PEER))).not.toContain("batch");
    await off.stop();
    const on = await cluster.start({ id: "b", runtimeConfig: WITHOUT_BATCH });
    await on.knows("a");
    expect((await on.get(JOBS)).status).toBe(200);
    expect(groupNames(await on.discovery("/apis"))).toContain("batch");
    await on.stop();
    const again = await cluster.start({ id: "b", runtimeConfig: WITHOUT_BATCH, gate: false });
    expect((await again.get(JOBS)).status).toBe(404);
  });

  test("seed-003 if off on the only server of a resource does not prevent other servers from proxying to it", async () => {
    await using cluster = new TestCluster();
    const on = await cluster.start({ runtimeConfig: WITHOUT_BATCH });
    await cluster.start({ id: "b", gate: false });
    await on.knows("b");
    expect((await on.get(JOBS)).status).toBe(200);
  });

  test("seed-000 if on makes a request that no server can serve return 404 with the message of the design", async () => {
    const { cluster, a, b } = await twoServers();
    await using _ = cluster;
    for (const server of [a, b]) {
      const response = await server.get("/apis/nobody.example.com/v1/things");
      expect(response.status).toBe(404);
      expect(response.body.message).toBe("GVR nobody.example.com/v1, things is not served by anything in this cluster");
    }
    expect(await a.metric('apiserver_rerouted_request_total{code="404"')).toBe(0);
  });
});

describe("a request that was proxied once", () => {
  test("seed-000 §9-7 returns 503 if the peer does not serve the resource either, and is not proxied again", async () => {
    const { cluster, b } = await twoServers();
    await using _ = cluster;
    for (const guard of ["x-kubernetes-peer-proxied", "x-kubernetes-apiserver-rerouted"]) {
      const headers = { "x-remote-user": "jane", [guard]: "true" };
      const response = await b.call(JOBS, { asProxy: true, token: "", headers });
      expect([response.status, response.body.reason]).toEqual([503, "ServiceUnavailable"]);
      expect(response.headers["x-evenkeel-not-served"]).toBe("b");
      expect(response.body.details.causes).toContainEqual({ field: "rule", message: "proxied-but-not-served-here" });
    }
    expect(
      await b.metric('apiserver_rerouted_request_total{code="200",group="batch",version="v1",resource="jobs"}'),
    ).toBe(0);
  });

  test("seed-000 and reaches the local server itself returns 503 with this reason", async () => {
    const { cluster, a, b } = await twoServers({ timing: UNPROBED });
    await using _ = cluster;
    a.link.lead(b.port);
    const responses = await until(
      () => b.get(JOBS),
      ({ text }) => text.includes("its address leads to this server itself"),
    );
    expect(statuses(responses)).toEqual([503]);
    const { headers, body } = responses.at(-1)!;
    expect(headers["retry-after"]).toBe("1");
    expect(body.message).toMatch(/^Error while proxying request to destination apiserver a: /);
    const series = 'apiserver_peer_proxy_errors_total{type="not_served",group="batch",version="v1",resource="jobs"}';
    expect(await b.metric(series)).toBe(1);
  });

  test("seed-000 and reaches a wrong peer that does not serve the resource returns 503", async () => {
    const without = { runtimeConfig: WITHOUT_BATCH, peers: { timing: UNPROBED } };
    await using cluster = await startCluster([{}, without, without]);
    const [a, b, c] = cluster.members as [Member, Member, Member];
    a.link.lead(c.port);
    const responses = await until(
      () => b.get(JOBS),
      ({ text }) => text.includes("it does not serve the resource either"),
    );
    expect(statuses(responses)).toEqual([503]);
  });

  test("over a link that permanently leads to the wrong server returns 503, and discovery still lists the resources of the peer", async () => {
    const { cluster, a, b } = await twoServers();
    await using _ = cluster;
    a.link.cut();
    await b.knows();
    a.link.lead(b.port);
    a.link.mend();
    await b.knows("a");
    const failures = 'apiserver_peer_discovery_sync_errors_total{type="fetch_discovery"}';
    const before = await b.metric(failures);
    const responses: PeerResponse[] = [];
    await until(
      async () => {
        responses.push(await b.get(JOBS));
        return b.metric(failures);
      },
      (count) => count > before + 2,
    );
    expect(statuses(responses)).toEqual([503]);
    expect(resourcesIn(await b.discovery("/apis"))).toContain("batch/v1 jobs");
    a.link.lead(a.port);
    await eventually(
      () => b.get(JOBS),
      ({ status }) => status === 200,
    );
  });
});

describe("discovery of several servers:", () => {
  test("seed-003 §8.6-18 each server returns its own resources with profile=nopeer, and otherwise the same merged document", async () => {
    await using cluster = await startCluster([{ runtimeConfig: "apps/v1=false" }, { runtimeConfig: WITHOUT_BATCH }]);
    const [a, b] = cluster.members as [Member, Member];
    const own = await Promise.all([a, b].map((server) => server.discovery("/apis", NO_PEER)));
    expect(own.map((document) => groupNames(document).filter((name) => name === "apps" || name === "batch"))).toEqual([
      ["batch"],
      ["apps"],
    ]);
    const [left, right] = await Promise.all([a, b].map((server) => server.get("/apis", { accept: AGGREGATED })));
    expect(groupNames(left!.body)).toEqual(expect.arrayContaining(["apps", "batch"]));
    expect(left!.text).toBe(right!.text);
    expect(left!.headers.etag).toBe(right!.headers.etag);
  });

  test("every resource in discovery can be accessed on every server of three releases", async () => {
    await using cluster = await startCluster([{ release: "1.30" }, { release: "1.33" }, { release: "1.36" }]);
    const documents = await Promise.all(cluster.members.map((server) => server.discovery("/apis")));
    expect(new Set(documents.map((document) => JSON.stringify(document))).size).toBe(1);
    const lists = documents[0].items.flatMap((group: Json) =>
      group.versions.flatMap((version: Json) =>
        version.resources
          .filter((resource: Json) => resource.verbs.includes("list"))
          .map((resource: Json) => `/apis/${group.metadata.name}/${version.version}/${resource.resource}`),
      ),
    );
    expect(lists).toContain("/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies");
    expect(lists).toContain("/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas");
    for (const server of cluster.members) {
      const responses = await Promise.all(lists.map((path: string) => server.get(path)));
      expect(lists.filter((_path: string, at: number) => responses[at]!.status !== 200)).toEqual([]);
    }
  });
});

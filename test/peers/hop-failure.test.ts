/** Tests of requests that fail on the way to a peer: the responses to clients and the metrics for operators. */
import { describe, expect, test } from "vitest";
import type { PeerResponse } from "./client.ts";
import { startCluster, TEST_TIMING, UNPROBED, type Member, type TestCluster } from "./cluster.ts";
import {
  discoveryGroup,
  discoveryResource,
  endpoints,
  EXTRA_GROUP,
  sendJson,
  startStub,
  StubPeer,
  withdrawAddress,
  WIDGETS,
  WIDGETS_LABELS,
  type Respond,
} from "./stub-peer.ts";
import { endpointKey } from "../../src/cluster/peers/endpoint-record.ts";
import { eventually, until } from "./wait.ts";

const RECORD = endpointKey("/registry/", "stub");
const errors = (type: string): string => `apiserver_peer_proxy_errors_total{type="${type}",${WIDGETS_LABELS}}`;
const rerouted = (code: number): string => `apiserver_rerouted_request_total{code="${code}",${WIDGETS_LABELS}}`;

function expectUnavailable(answer: PeerResponse, rule: string): void {
  expect([answer.status, answer.body.kind, answer.body.reason]).toEqual([503, "Status", "ServiceUnavailable"]);
  expect(answer.headers["content-type"]).toBe("application/json");
  expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
  expect(answer.body.details).toMatchObject({ group: EXTRA_GROUP, kind: "widgets" });
  expect(answer.body.details.causes).toContainEqual({ field: "rule", message: rule });
  expect(answer.body.details.causes).toContainEqual({ field: "peer", message: "stub" });
}

describe("an unreachable peer", () => {
  test("§9-1 §9-24 §8.1-7 §8-404-vs-503 still counts as the server of its resources: requests for them return 503 with a Status and Retry-After, never 404", async () => {
    await using cluster = await startCluster([{}]);
    const { member, stub } = await startStub(cluster);
    const fetches = stub.discoveryArrivals.length;
    await stub.silence();
    const responses = await until(
      () => member.get(WIDGETS),
      ({ text }) => text.includes("cannot be reached"),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]));
    expectUnavailable(responses.at(-1)!, "peer-unreachable");
    const { body } = await member.get("/apis", {
      accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    });
    const group = body.items.find((item: { metadata: { name: string } }) => item.metadata.name === EXTRA_GROUP);
    expect(group.versions[0].freshness).toBe("Stale");
    expect(stub.discoveryArrivals.length).toBe(fetches);
  });

  test("§8.1-7 §9-25 increments the counter of rerouted requests with code 503 and the error counter with the cause", async () => {
    // Probes are rare, so that the request notices the failure before a probe does.
    await using cluster = await startCluster([{ peers: { timing: UNPROBED } }]);
    const { member, stub } = await startStub(cluster);
    await stub.silence();
    expectUnavailable(await member.get(WIDGETS), "served-by-peer");
    expect(await member.metric(rerouted(503))).toBe(1);
    expect(await member.metric(`kubernetes_${rerouted(503)}`)).toBe(1);
    expect(await member.metric(errors("connect"))).toBe(1);
    expect((await member.get(WIDGETS)).body.message).toContain(
      "Error while proxying request to destination apiserver stub: ",
    );
  });

  test("§8.1-6 §9-12 without an address makes requests return 503", async () => {
    await using cluster = await startCluster([{}]);
    const { member } = await startStub(cluster);
    await withdrawAddress(cluster, "stub");
    const response = await eventually(
      () => member.get(WIDGETS),
      ({ text }) => text.includes("has not published its address"),
    );
    expectUnavailable(response, "peer-unreachable");
    await cluster.put(RECORD, JSON.stringify(endpoints("stub", 1)));
    expect((await member.get(WIDGETS)).status).toBe(503);
  });

  test("§9-28 gets no requests while it does not respond to probes, and gets requests again after it responds", async () => {
    await using cluster = await startCluster([{ peers: { timing: { ...TEST_TIMING, probeTimeoutMs: 1_000 } } }]);
    const { member, stub } = await startStub(cluster);
    stub.isHanging = true;
    await member.knows();
    stub.arrivals.splice(0);
    expectUnavailable(await member.get(WIDGETS), "peer-unreachable");
    expect(stub.arrivals).toEqual([]);
    stub.isHanging = false;
    await member.knows("stub");
    expect((await member.get(WIDGETS)).status).toBe(200);
  });

  test("with a certificate of another CA makes requests return 503 and is counted as tls", async () => {
    await using cluster = await startCluster([{ peers: { timing: UNPROBED } }]);
    const { member, stub } = await startStub(cluster);
    const impostor = await StubPeer.start(cluster, member, {
      id: "impostor",
      certificate: cluster.credentials.strange,
    });
    await cluster.put(RECORD, JSON.stringify(endpoints("stub", impostor.port)));
    await stub.silence();
    await eventually(
      () => member.view.peers.find(({ id }) => id === "stub")?.address?.port,
      (port) => port === impostor.port,
    );
    expectUnavailable(await member.get(WIDGETS), "served-by-peer");
    expect(await member.metric(errors("tls"))).toBe(1);
    expect(impostor.arrivals).toEqual([]);
  });
});

describe("with several peers,", () => {
  async function twoStubs(): Promise<{ cluster: TestCluster; member: Member; one: StubPeer; two: StubPeer }> {
    const cluster = await startCluster([{ peers: { timing: UNPROBED } }]);
    const { member, stub: one } = await startStub(cluster);
    const { stub: two } = await startStub(cluster, { id: "stub2" });
    return { cluster, member, one, two };
  }

  test("§9-2 §8-failover a request, also a write, is sent to another peer if the connection to the first peer failed", async () => {
    const { cluster, member, one, two } = await twoStubs();
    await using _ = cluster;
    await one.silence();
    for (const method of ["GET", "POST", "DELETE"]) {
      const target = method === "POST" ? WIDGETS : `${WIDGETS}/one`;
      const responses = [];
      for (let turn = 0; turn < 5; turn++)
        responses.push(await member.call(target, { method, ...(method === "POST" ? { body: { a: 1 } } : {}) }));
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    }
    expect(two.arrivals).toHaveLength(15);
  });

  test("§8.1-8 a request returns 503 and is counted once if the only peer with an address is unreachable", async () => {
    const { cluster, member, one } = await twoStubs();
    await using _ = cluster;
    await withdrawAddress(cluster, "stub2");
    await eventually(
      () => member.view.peers.find(({ id }) => id === "stub2")?.address,
      (address) => address === undefined,
    );
    await one.silence();
    expect((await member.get(WIDGETS)).status).toBe(503);
    expect(await member.metric(rerouted(503))).toBe(1);
  });

  test("§9-2 §8-failover a read is retried at another peer if the connection breaks, and a write is not", async () => {
    const { cluster, member, one, two } = await twoStubs();
    await using _ = cluster;
    let broken = 0;
    const breakFirst: Respond = (request, response) => {
      if (broken++ === 0) request.socket.destroy();
      else sendJson(response, 200, {});
    };
    for (const stub of [one, two]) stub.respond = breakFirst;
    expect((await member.get(WIDGETS)).status).toBe(200);
    expect(broken).toBe(2);
    broken = 0;
    const deleted = await member.delete(`${WIDGETS}/one`);
    expect([deleted.status, broken]).toEqual([503, 1]);
    expect(await member.metric(errors("reset"))).toBe(2);
  });

  test("§9-2 a read is retried at another peer if the first peer returns 503", async () => {
    const { cluster, member, one, two } = await twoStubs();
    await using _ = cluster;
    one.respond = (_request, response) => sendJson(response, 503, { kind: "Status", code: 503 });
    for (let turn = 0; turn < 8; turn++) expect((await member.get(WIDGETS)).status).toBe(200);
    two.respond = one.respond;
    const answer = await member.get(WIDGETS);
    expect([answer.status, answer.body]).toEqual([503, { kind: "Status", code: 503 }]);
  });
});

describe("an invalid response of the only peer", () => {
  const cases: readonly (readonly [name: string, type: string, respond: Respond])[] = [
    ["301", "redirect", (_request, response) => void response.writeHead(301, { location: "https://example/" }).end()],
    [
      "302 to itself",
      "redirect",
      (request, response) => void response.writeHead(302, { location: request.url! }).end(),
    ],
    [
      "404 as text",
      "not_served",
      (_request, response) =>
        void response.writeHead(404, { "content-type": "text/plain; charset=utf-8" }).end("404 page not found\n"),
    ],
    [
      "404 for an unknown resource",
      "not_served",
      (_request, response) =>
        sendJson(response, 404, { kind: "Status", message: "the server could not find the requested resource" }),
    ],
    ["bytes that are not HTTP", "malformed", (request) => void request.socket.end("hello\r\n\r\n")],
    [
      "two lengths",
      "malformed",
      (request) => void request.socket.end("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
    ],
    ["a closed connection", "reset", (request) => void request.socket.destroy()],
  ];
  test.each(cases)("§9-7 (%s) becomes a 503 for the client", async (_name, type, respond) => {
    await using cluster = await startCluster([{}]);
    const { member, stub } = await startStub(cluster, { respond });
    const response = await member.get(`${WIDGETS}/one`);
    expectUnavailable(response, "served-by-peer");
    expect(stub.arrivals).toHaveLength(1);
    expect(await member.metric(errors(type))).toBe(1);
  });

  test("is not a 404 for a missing object, which the client receives unchanged", async () => {
    await using cluster = await startCluster([{}]);
    const message = 'widgets.extra.example.com "one" not found';
    const { member } = await startStub(cluster, {
      respond: (_request, response) =>
        sendJson(response, 404, { kind: "Status", reason: "NotFound", message, code: 404 }),
    });
    const answer = await member.get(`${WIDGETS}/one`);
    expect([answer.status, answer.body.message]).toEqual([404, message]);
  });
});

describe("with limits,", () => {
  test("§9-28 proxied requests beyond the limit return 429, and watches do not count", async () => {
    await using cluster = await startCluster([{ peers: { requestsInflightMax: 1 } }]);
    const waiting: (() => void)[] = [];
    const { member } = await startStub(cluster, {
      respond: (request, response) => {
        if (request.url!.includes("watch")) response.writeHead(200).flushHeaders();
        else waiting.push(() => sendJson(response, 200, {}));
      },
    });
    const watch = await member.open(`${WIDGETS}?watch=1`);
    watch.on("error", () => {});
    const first = member.get(WIDGETS);
    await eventually(
      () => waiting.length,
      (count) => count === 1,
    );
    const second = await member.get(WIDGETS);
    expect([second.status, second.body.reason, second.headers["retry-after"]]).toEqual([429, "TooManyRequests", "1"]);
    expect(await member.metric(errors("overloaded"))).toBe(1);
    waiting[0]!();
    expect((await first).status).toBe(200);
    watch.destroy();
  });

  test("a request to a peer that responds to probes but not to the request ends at the client's deadline", async () => {
    await using cluster = await startCluster([{}]);
    const closed = Promise.withResolvers<void>();
    const { member } = await startStub(cluster, {
      respond: (_request, response) => void response.on("close", () => closed.resolve()),
    });
    const answer = await member.get(`${WIDGETS}?timeout=300ms`);
    expect([answer.status, answer.body.reason]).toEqual([504, "Timeout"]);
    await closed.promise;
  });

  test("§9-12 proxied requests do not read the store", async () => {
    await using cluster = await startCluster([{}]);
    const { member } = await startStub(cluster, {
      groups: [discoveryGroup(EXTRA_GROUP, [discoveryResource("widgets")])],
    });
    const before = member.storeReads;
    const responses = await Promise.all(Array.from({ length: 100 }, () => member.get(WIDGETS)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    // Allows a few reads, because the server may renew its leases meanwhile.
    expect(member.storeReads - before).toBeLessThan(10);
  });
});

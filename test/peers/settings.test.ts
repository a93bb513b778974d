/**
 * Tests of the flags and feature gates of the proxy: invalid or incomplete flags, and the behavior of a server that
 * cannot call peers (§3.4, §9-30 to -32).
 */
import { describe, expect, test } from "vitest";
import { resolveOptions, type ServerOptions } from "../../src/server/config.ts";
import { groupNames, resourcesIn } from "./client.ts";
import { startCluster, TEST_TIMING, TestCluster, type Member } from "./cluster.ts";
import { endpoints, EXTRA_GROUP, LEASES, startStub, StubPeer, WIDGETS } from "./stub-peer.ts";
import { protobufEndpoints } from "./stored-endpoints.ts";
import { eventually } from "./wait.ts";

const resolve = (options: Partial<ServerOptions>): unknown =>
  resolveOptions({ storage: { kind: "memory" }, ...options });
const OFF = ["UnknownVersionInteroperabilityProxy=false"];

describe("flags", () => {
  test.each([
    ["§9-31 only the address", { peers: { advertiseIp: "10.0.0.1" } }, /both or neither/],
    ["§9-31 only the port", { peers: { advertisePort: "6443" } }, /both or neither/],
    ["§9-31 an invalid address", { peers: { advertiseIp: "host", advertisePort: "1" } }, /must be an IP address/],
    ["§9-31 an invalid port", { peers: { advertiseIp: "10.0.0.1", advertisePort: "x" } }, /--peer-advertise-port/],
    ["§9-32 only the certificate", { peers: { certFile: "c" } }, /must be set together/],
    ["§9-32 only the key", { peers: { keyFile: "k" } }, /must be set together/],
    [
      "gate off and a CA",
      { featureGates: OFF, peers: { caFile: "ca" } },
      /--peer-ca-file requires UnknownVersionInteroperabilityProxy feature to be turned on/,
    ],
    [
      "gate off and an address",
      { featureGates: OFF, peers: { advertiseIp: "10.0.0.1" } },
      /--peer-advertise-ip requires/,
    ],
    ["gate off and a port", { featureGates: OFF, peers: { advertisePort: "1" } }, /--peer-advertise-port requires/],
    ["an ID that cannot name a lease", { peers: { serverId: "A b" } }, /--server-id must be 1 to 63/],
    ["inconsistent times", { peers: { timing: { leaseRenewMs: 9_000 } } }, /renewed more than twice/],
    [
      "an egress selection of type GRPC",
      { peers: { egress: { kind: "x" } } },
      /egress selector configuration is invalid/,
    ],
  ] as const)("with %s are rejected with an explanation", (_name, options, sentence) => {
    expect(() => resolve(options)).toThrow(sentence);
  });

  test("§9-32 with a CA but without a client certificate are accepted", () => {
    expect(() => resolve({ peers: { caFile: "ca" } })).not.toThrow();
  });
});

describe("a server that cannot call its peers", () => {
  test.each([
    ["§9-32 no flag", {}, "--peer-ca-file"],
    ["§9-32 a CA but no certificate", { caFile: "ca.crt" }, "--proxy-client-cert-file"],
  ])(
    "(%s) returns local discovery, and 503 with the missing flag for resources that it does not serve itself",
    async (_name, peers, flag) => {
      await using cluster = await startCluster([
        { runtimeConfig: "batch/v1=false", hasNoCredentials: true, peers },
        {},
      ]);
      const [lonely, other] = cluster.members as [Member, Member];
      await eventually(
        () => lonely.view.peers.length,
        (count) => count === 1,
      );
      expect(groupNames(await lonely.discovery("/apis"))).not.toContain("batch");
      const response = await lonely.get("/apis/batch/v1/jobs");
      expect([response.status, response.headers["retry-after"]]).toEqual([503, "30"]);
      expect(response.body.message).toContain(`${flag} is not set`);
      expect((await lonely.get("/apis/apps/v1/deployments")).status).toBe(200);
      // Peers can still call this server.
      await other.knows("a");
      await other.stop();
      await eventually(
        () => lonely.view.peers.length,
        (count) => count === 0,
      );
      expect((await lonely.get("/readyz")).status).toBe(200);
    },
  );
});

describe("endpoint records and leases:", () => {
  test("a record in protobuf, as kube-apiserver writes it, is used", async () => {
    await using cluster = await startCluster([{}]);
    const { member, stub } = await startStub(cluster, { record: (port) => protobufEndpoints("stub", port) });
    expect((await member.get(WIDGETS)).status).toBe(200);
    expect(stub.arrivals).toHaveLength(1);
  });

  test.each([
    ["the name of another server", JSON.stringify(endpoints("other", 1))],
    ["malformed JSON", "{"],
    [
      "no address",
      JSON.stringify({ kind: "Endpoints", apiVersion: "v1", metadata: { labels: { apiserverIdentity: "stub" } } }),
    ],
  ])("a record with %s is ignored", async (_name, record) => {
    await using cluster = await startCluster([{}]);
    const [member] = cluster.members as [Member];
    await StubPeer.start(cluster, member, { id: "stub", record: () => Buffer.from(record) });
    await eventually(
      () => member.view.peers.length,
      (count) => count === 1,
    );
    expect(member.view.peers[0]!.address).toBeUndefined();
    expect((await member.get(WIDGETS)).status).toBe(503);
    expect((await member.get("/readyz")).status).toBe(200);
  });

  test("the identity lease contains the peer address in the annotation that kube-apiserver uses", async () => {
    await using cluster = await startCluster([{}]);
    const [member] = cluster.members as [Member];
    const { body } = await eventually(
      () => member.get(`${LEASES}/a`),
      ({ body: lease }) => lease.metadata.annotations["kubernetes.io/peer-advertise-address"] !== undefined,
    );
    expect(body.metadata.annotations["kubernetes.io/peer-advertise-address"]).toBe(`127.0.0.1:${member.link.port}`);
    expect(body.metadata.labels["apiserver.kubernetes.io/identity"]).toBe("kube-apiserver");
    expect(body.spec.holderIdentity).toMatch(/^a_[0-9a-f-]{36}$/);
  });

  test("a lease annotation with another address does not redirect requests", async () => {
    await using cluster = await startCluster([{}]);
    const { member, stub } = await startStub(cluster);
    const trap = await StubPeer.start(cluster, member, { id: "trap", record: "none" });
    const patch = { metadata: { annotations: { "kubernetes.io/peer-advertise-address": `127.0.0.1:${trap.port}` } } };
    const headers = { "content-type": "application/merge-patch+json" };
    await member.call(`${LEASES}/stub`, { method: "PATCH", body: JSON.stringify(patch), headers });
    expect((await member.get(WIDGETS)).status).toBe(200);
    expect([stub.arrivals.length, trap.arrivals.length]).toEqual([1, 0]);
  });

  test("§9-30 one of two servers with the same ID logs the conflict and is not ready", async () => {
    // A server notices the other one when it renews its lease.
    const peers = { timing: { ...TEST_TIMING, leaseRenewMs: 200 } };
    await using cluster = await startCluster([{ peers }]);
    const [first] = cluster.members as [Member];
    const second = await cluster.start({ id: "a", peers, skipReady: true });
    await eventually(
      () => cluster.log.some((line) => line.includes("--server-id")),
      (isSaid) => isSaid,
    );
    const states = await eventually(
      async () => [(await first.get("/readyz")).status, (await second.get("/readyz")).status],
      (both) => both.toSorted((left, right) => left - right).join() === "200,500",
    );
    expect(states).toContain(200);
  });

  test("no proxied request fails while one of the two servers of its resource departs", async () => {
    await using cluster = new TestCluster();
    const b = await cluster.start({ id: "b", runtimeConfig: "batch/v1=false" });
    const a = await cluster.start({ id: "a" });
    await cluster.start({ id: "c" });
    await b.knows("a", "c");
    const stopping = a.stop();
    const statuses = new Set<number>();
    let isStopped = false;
    void stopping.then(() => (isStopped = true));
    while (!isStopped) statuses.add((await b.get("/apis/batch/v1/jobs")).status);
    expect(statuses).toEqual(new Set([200]));
    expect(resourcesIn(await b.discovery("/apis"))).not.toContain(`${EXTRA_GROUP}/v1 widgets`);
  });
});

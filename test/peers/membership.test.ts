/** Tests of which servers count as live, and for how long (§9-13, §9-29). */
import { describe, expect, test } from "vitest";
import { endpointKey } from "../../src/cluster/peers/endpoint-record.ts";
import { encodeServedRecord, servedRecordKey } from "../../src/cluster/peers/served-record.ts";
import { groupNames } from "./client.ts";
import { SHORT_LEASES, startCluster, TestCluster, type Member } from "./cluster.ts";
import { lease, LEASES, startStub, StubPeer, WIDGETS } from "./stub-peer.ts";
import { eventually, until } from "./wait.ts";

async function known(member: Member, id: string): Promise<void> {
  await eventually(
    () => member.view.peers.some((peer) => peer.id === id),
    (isKnown) => isKnown,
  );
}

describe("forged leases", () => {
  test("§9-13 in another namespace do not count as servers", async () => {
    await using cluster = await startCluster([{}]);
    const [member] = cluster.members as [Member];
    const planted = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    expect((await member.create(planted, lease("planted", "default"))).status).toBe(201);
    // The stub joins after the forged lease. The server sees the stub, so it would have seen a server of the forged
    // lease, too.
    await startStub(cluster);
    expect(member.view.peers.map(({ id }) => id)).toEqual(["stub"]);
    expect((await member.get("/apis/nobody.example.com/v1/things")).status).toBe(404);
  });

  test("§9-13 that are not renewed make requests return 503 instead of 404 only until they expire", async () => {
    await using cluster = await startCluster([{ peers: { timing: SHORT_LEASES } }]);
    const [member] = cluster.members as [Member];
    const { spec, ...rest } = lease("planted");
    expect((await member.create(LEASES, { ...rest, spec: { ...spec, leaseDurationSeconds: 1 } })).status).toBe(201);
    await known(member, "planted");
    const responses = await until(
      () => member.get(WIDGETS),
      ({ status }) => status === 404,
    );
    expect(responses.length).toBeGreaterThan(1);
  });

  test("§9-13 without an endpoint record receive no request, even if they are renewed", async () => {
    await using cluster = await startCluster([{ peers: { timing: SHORT_LEASES } }]);
    const [member] = cluster.members as [Member];
    const planted = await StubPeer.start(cluster, member, { id: "planted", record: "none" });
    await known(member, "planted");
    expect((await member.get(WIDGETS)).status).toBe(503);
    expect([...planted.arrivals, ...planted.discoveryArrivals]).toEqual([]);
  });
});

describe("a server without an endpoint record", () => {
  test.each([
    ["does not count if the store records the departure of its run", "0-at-192.0.2.9", 404],
    ["counts if the store records the departure of another run", "1-at-192.0.2.9", 503],
  ] as const)("%s", async (_, incarnation, status) => {
    await using cluster = new TestCluster();
    const times = { servedAt: "2030-01-01T00:00:00Z", departedAt: "2030-01-01T00:00:30Z" };
    const record = { serverId: "old", incarnation, release: undefined, ...times, resources: new Map() };
    await cluster.put(servedRecordKey("/registry/", record), encodeServedRecord(record)!);
    await cluster.put("/registry/leases/kube-system/old", JSON.stringify(lease("old")));
    const member = await cluster.start();
    expect((await member.get(WIDGETS)).status).toBe(status);
    const { ignoredLeases } = (await member.get("/evenkeel/v1/status")).body;
    expect(ignoredLeases.count).toBe(0);
  });

  test("that --peer-server names is called at the address of the flag", async () => {
    await using cluster = await startCluster([{}]);
    const [first] = cluster.members as [Member];
    const stub = await StubPeer.start(cluster, first, { id: "old", record: "none" });
    const named = await cluster.start({ peers: { servers: [`old=127.0.0.1:${stub.port}`] } });
    await named.knows("a", "old");
    expect((await named.get(WIDGETS)).status).toBe(200);
    expect((await first.get(WIDGETS)).status).toBe(503);
  });

  test("whose record disappeared a moment ago is still called", async () => {
    await using cluster = await startCluster([{}]);
    const { member } = await startStub(cluster);
    await cluster.remove(endpointKey("/registry/", "stub"));
    await eventually(
      () => cluster.members[0]!.view.peers.length,
      (count) => count === 1,
    );
    expect((await member.get(WIDGETS)).status).toBe(200);
  });
});

describe("a departed server", () => {
  test("§9-29 that has crashed leaves merged discovery when its lease expires, and its lease is deleted", async () => {
    const peers = { timing: SHORT_LEASES };
    await using cluster = await startCluster([{ peers, runtimeConfig: "batch/v1=false" }, { peers }]);
    const [a, b] = cluster.members as [Member, Member];
    expect(groupNames(await a.discovery("/apis"))).toContain("batch");
    b.crash();
    const responses = await until(
      async () => ({
        status: (await a.get("/apis/batch/v1/jobs")).status,
        groups: groupNames(await a.discovery("/apis")),
      }),
      ({ groups }) => !groups.includes("batch"),
    );
    expect(responses.some(({ status }) => status === 404)).toBe(false);
    await eventually(
      () => a.get(`${LEASES}/b`),
      ({ status }) => status === 404,
    );
    const after = await a.get("/apis/batch/v1/jobs");
    expect([after.status, after.body.message]).toEqual([
      503,
      expect.stringMatching(/was last served by b \(1\.36\), which departed at/),
    ]);
  });

  test("that returns with more resources is described again, and the new resources are served", async () => {
    await using cluster = await startCluster([{ release: "1.30" }, { release: "1.32" }]);
    const [a, b] = cluster.members as [Member, Member];
    await b.stop();
    await cluster.start({ id: "b", release: "1.36" });
    const path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
    await eventually(
      () => a.get(path),
      ({ status }) => status === 200,
    );
  });
});

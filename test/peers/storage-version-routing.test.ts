/**
 * Tests of routing by StorageVersion objects (--peer-routing-source=storageversion): the integration tests of the
 * proxy's first design in its order, and tests of behavior that only this source has.
 */
import { describe, expect, test } from "vitest";
import { openCatalog } from "../../src/objects/catalog/catalog.ts";
import { type PeerResponse, type Json, resourcesIn } from "./client.ts";
import { startCluster, TestCluster, UNPROBED, type Member, type MemberOptions } from "./cluster.ts";
import {
  endpoints,
  EXTRA_GROUP,
  EXTRA_GROUPS,
  OLD_GROUPS,
  OLD_JOBS,
  registerStorageVersions,
  StubPeer,
  WIDGETS,
} from "./stub-peer.ts";
import { eventually, until } from "./wait.ts";

const JOBS = "/apis/batch/v1/namespaces/default/jobs";
const UNKNOWN = "/apis/nobody.example.com/v1/things";
const { storagePrefix } = openCatalog({ release: "1.36", extensions: true }).resource(
  "internal.apiserver.k8s.io",
  "storageversions",
)!;
const WITHOUT_BATCH = { runtimeConfig: "batch/v1=false" } as const;

async function servers(...members: readonly MemberOptions[]): Promise<{ cluster: TestCluster; servers: Member[] }> {
  const cluster = await startCluster(members, "storageversion");
  return { cluster, servers: cluster.members };
}

const rule = ({ body }: PeerResponse): string | undefined =>
  body?.details?.causes?.find(({ field }: Json) => field === "rule")?.message;

const routeOf = async (member: Member, path: string): Promise<Json> =>
  (await member.get(`/evenkeel/v1/route?verb=list&path=${encodeURIComponent(path)}`)).body.route;

describe("seed-000 (the first design), integration test", () => {
  test("1: a server returns 404 with the feature gate off and proxies requests with the feature gate on", async () => {
    const { cluster } = await servers({});
    await using _ = cluster;
    const off = await cluster.start({ id: "b", ...WITHOUT_BATCH, gate: false });
    const rejected = await off.get(JOBS);
    expect([rejected.status, rejected.text]).toEqual([404, "404 page not found\n"]);
    await off.stop();
    const on = await cluster.start({ id: "b", ...WITHOUT_BATCH });
    await on.knows("a");
    expect((await on.get(JOBS)).status).toBe(200);
  });

  test("2: a request is proxied to a server that can handle it", async () => {
    const { cluster, servers: members } = await servers({}, WITHOUT_BATCH);
    await using _ = cluster;
    const response = await members[1]!.get(JOBS);
    expect([response.status, response.headers["x-evenkeel-served-by"]]).toEqual([
      200,
      "a (1.36); reason=served-by-peer",
    ]);
  });

  test("3: a request that was proxied once returns 503 if the receiving server does not serve the resource", async () => {
    const { cluster, servers: members } = await servers({}, WITHOUT_BATCH);
    await using _ = cluster;
    const headers = { "x-remote-user": "jane", "x-kubernetes-apiserver-rerouted": "true" };
    const response = await members[1]!.call(JOBS, { asProxy: true, token: "", headers });
    expect([response.status, rule(response)]).toEqual([503, "proxied-but-not-served-here"]);
  });

  test("4: a request returns 503 if the address of the peer leads to the local server itself", async () => {
    const { cluster, servers: members } = await servers({}, { ...WITHOUT_BATCH, peers: { timing: UNPROBED } });
    await using _ = cluster;
    const [a, b] = members as [Member, Member];
    a.link.lead(b.port);
    const responses = await until(
      () => b.get(JOBS),
      ({ text }) => text.includes("its address leads to this server itself"),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]));
  });

  test("5: a request that no server can serve returns 404", async () => {
    const { cluster, servers: members } = await servers({}, WITHOUT_BATCH);
    await using _ = cluster;
    for (const server of members) {
      const response = await server.get(UNKNOWN);
      expect([response.status, response.body.message]).toEqual([
        404,
        "GVR nobody.example.com/v1, things is not served by anything in this cluster",
      ]);
    }
  });

  test("6: a request returns 503 if the address of the peer leads to another server that does not serve the resource", async () => {
    const without = { ...WITHOUT_BATCH, peers: { timing: UNPROBED } };
    const { cluster, servers: members } = await servers({}, without, without);
    await using _ = cluster;
    const [a, b, c] = members as [Member, Member, Member];
    a.link.lead(c.port);
    const responses = await until(
      () => b.get(JOBS),
      ({ text }) => text.includes("it does not serve the resource either"),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]));
  });
});

/** Options of a stub whose discovery requests fail. */
const MUTE = {
  discovery: (_: unknown, response: { writeHead(status: number): { end(): void } }) => response.writeHead(500).end(),
};

/**
 * The endpoint record of an Evenkeel server. If `published` is true, it declares that all its StorageVersion entries
 * are registered.
 */
function ownRecord(id: string, published: boolean): (port: number) => Buffer {
  return (port) => {
    const record = endpoints(id, port);
    const said = { release: "1.36", incarnation: "0", ...(published && { "storage-versions": "published" }) };
    record.metadata.annotations = Object.fromEntries(
      Object.entries(said).map(([name, value]) => [`evenkeel.io/${name}`, value]),
    );
    return Buffer.from(JSON.stringify(record));
  };
}

describe("the StorageVersion registration of a peer", () => {
  test("is sufficient for routing, even if the discovery document of the peer is unavailable", async () => {
    const { cluster, servers: members } = await servers({});
    await using _ = cluster;
    const [member] = members as [Member];
    const stub = await StubPeer.start(cluster, member, { id: "stub", ...MUTE });
    await registerStorageVersions(member, stub.id, EXTRA_GROUPS);
    await eventually(
      () => member.get(WIDGETS),
      ({ status }) => status === 200,
    );
    expect(stub.arrivals.at(-1)).toMatchObject({ method: "GET", url: WIDGETS });
    // A resource that the peer has not registered returns 503, because the peer does not declare that its registration
    // is complete.
    const other = await member.get(`/apis/${EXTRA_GROUP}/v1/gadgets`);
    expect([other.status, rule(other)]).toEqual([503, "peer-not-described"]);
  });

  test("is complete if the endpoint record of the peer declares it: then other resources return 404 without its discovery document", async () => {
    const { cluster, servers: members } = await servers({});
    await using _ = cluster;
    const [member] = members as [Member];
    const stub = await StubPeer.start(cluster, member, { id: "stub", ...MUTE, record: ownRecord("stub", true) });
    await registerStorageVersions(member, stub.id, EXTRA_GROUPS);
    await member.knows("stub");
    expect((await member.get(WIDGETS)).status).toBe(200);
    expect((await member.get(`/apis/${EXTRA_GROUP}/v1/gadgets`)).status).toBe(404);
    // Discovery uses only documents, and does not treat a missing document as empty.
    expect(resourcesIn(await member.discovery("/apis"))).not.toContain(`${EXTRA_GROUP}/v1 widgets`);
    expect((await member.get(`/apis/${EXTRA_GROUP}`)).status).toBe(503);
  });

  test("may be incomplete until the peer is ready: then unregistered resources return 503 with the ID of the peer", async () => {
    const { cluster, servers: members } = await servers({});
    await using _ = cluster;
    const [member] = members as [Member];
    await StubPeer.start(cluster, member, { id: "stub", record: "none" });
    const response = await eventually(
      () => member.get(UNKNOWN),
      ({ status }) => status !== 404,
    );
    expect([response.status, rule(response)]).toEqual([503, "peer-not-described"]);
    expect(response.body.message).toContain("stub has not yet published what it serves");
  });
});

describe("StorageVersion entries of an ID without a lease", () => {
  test("of a resource that is not built in count as aggregated or custom resources, whose requests are handled locally", async () => {
    const { cluster, servers: members } = await servers({}, {});
    await using _ = cluster;
    await registerStorageVersions(members[0]!, "metrics-server", EXTRA_GROUPS);
    for (const member of members) {
      const route = await eventually(
        () => routeOf(member, WIDGETS),
        ({ kind }) => kind === "local",
      );
      expect(route.rule).toBe("judged-locally");
      expect((await member.get(WIDGETS)).text).toBe("404 page not found\n");
    }
  });

  test("of a built-in resource count as those of a starting or departed server and are ignored", async () => {
    const { cluster, servers: members } = await servers(WITHOUT_BATCH);
    await using _ = cluster;
    const [member] = members as [Member];
    const jobs = [{ metadata: { name: "batch" }, versions: [{ version: "v1", resources: [{ resource: "jobs" }] }] }];
    await registerStorageVersions(member, "stranger", jobs);
    expect((await routeOf(member, JOBS)).rule).toBe("alone");
  });

  test("of a departed server do not count as aggregated resources: requests return 503 during the grace period", async () => {
    const { cluster, servers: members } = await servers({});
    await using _ = cluster;
    const [member] = members as [Member];
    const stub = await StubPeer.start(cluster, member, { id: "stub", groups: OLD_GROUPS });
    await registerStorageVersions(member, stub.id, OLD_GROUPS);
    await member.knows("stub");
    expect((await member.get(OLD_JOBS)).status).toBe(200);
    await stub.leave(member);
    await member.knows();
    const response = await eventually(
      () => member.get(OLD_JOBS),
      (one) => rule(one) === "departed",
    );
    expect(response.status).toBe(503);
  });
});

describe("with this routing source,", () => {
  test("a server returns 503 instead of 404 until its own registration is complete", async () => {
    await using cluster = new TestCluster("storageversion");
    const unreadable = `/registry/${storagePrefix}/batch.jobs`;
    await cluster.put(unreadable, "{");
    const member = await cluster.start({ skipReady: true });
    const hooks = await eventually(
      async () => (await member.get("/readyz?verbose")).text,
      (text) => text.includes("[+]poststarthook/start-kube-apiserver-identity-lease-garbage-collector ok"),
    );
    expect(hooks).toContain("[-]poststarthook/built-in-resources-storage-version-updater");
    const response = await member.get(UNKNOWN);
    expect([response.status, rule(response)]).toEqual([503, "not-synced"]);
    await cluster.remove(unreadable);
    await eventually(
      () => member.get(UNKNOWN),
      ({ status }) => status === 404,
    );
  });

  test("a server without the StorageVersion API is rejected at its start with an explanation", async () => {
    await using cluster = new TestCluster();
    const starting = cluster.start({ peers: { routingSource: "storageversion" } });
    await expect(starting).rejects.toThrow(
      "--peer-routing-source=storageversion requires the feature gate StorageVersionAPI and its API: add --feature-gates=StorageVersionAPI=true and --runtime-config=internal.apiserver.k8s.io/v1alpha1=true",
    );
  });
});

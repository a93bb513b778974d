/** Routing by StorageVersion objects: the integration list of the first design line by line, and what only this source has. */
import { describe, expect, test } from "vitest";
import { openCatalogue } from "../../src/objects/catalogue/catalogue.ts";
import { type Answer, type Json, resourcesIn } from "./client.ts";
import { startCluster, TestCluster, UNPROBED, type Member, type MemberOptions } from "./cluster.ts";
import { endpoints, EXTRA_GROUP, EXTRA_GROUPS, registerStorageVersions, StubPeer, WIDGETS } from "./stub-peer.ts";
import { eventually, until } from "./wait.ts";

const JOBS = "/apis/batch/v1/namespaces/default/jobs";
const UNKNOWN = "/apis/nobody.example.com/v1/things";
const { storagePrefix } = openCatalogue({ release: "1.36", extensions: true }).resource(
  "internal.apiserver.k8s.io",
  "storageversions",
)!;
const WITHOUT_BATCH = { runtimeConfig: "batch/v1=false" } as const;

async function servers(...members: readonly MemberOptions[]): Promise<{ cluster: TestCluster; servers: Member[] }> {
  const cluster = await startCluster(members, "storageversion");
  return { cluster, servers: cluster.members };
}

const rule = ({ body }: Answer): string | undefined =>
  body?.details?.causes?.find(({ field }: Json) => field === "rule")?.message;

const routeOf = async (member: Member, path: string): Promise<Json> =>
  (await member.get(`/evenkeel/v1/route?verb=list&path=${encodeURIComponent(path)}`)).body.route;

describe("seed-000, integration tests", () => {
  test("1: the behaviour with the feature gate on and off", async () => {
    const { cluster } = await servers({});
    await using _ = cluster;
    const off = await cluster.start({ id: "b", ...WITHOUT_BATCH, gate: false });
    const refused = await off.get(JOBS);
    expect([refused.status, refused.text]).toEqual([404, "404 page not found\n"]);
    await off.stop();
    const on = await cluster.start({ id: "b", ...WITHOUT_BATCH });
    await on.knows("a");
    expect((await on.get(JOBS)).status).toBe(200);
  });

  test("2: a request is proxied to a server that is able to handle it", async () => {
    const { cluster, servers: members } = await servers({}, WITHOUT_BATCH);
    await using _ = cluster;
    const answer = await members[1]!.get(JOBS);
    expect([answer.status, answer.headers["x-evenkeel-served-by"]]).toEqual([200, "a (1.36); reason=served-by-peer"]);
  });

  test("3: a server is asked for what has been proxied once already and does not serve it", async () => {
    const { cluster, servers: members } = await servers({}, WITHOUT_BATCH);
    await using _ = cluster;
    const headers = { "x-remote-user": "jane", "x-kubernetes-apiserver-rerouted": "true" };
    const answer = await members[1]!.call(JOBS, { asProxy: true, token: "", headers });
    expect([answer.status, rule(answer)]).toEqual([503, "proxied-but-not-served-here"]);
  });

  test("4: a server means to call a peer and calls itself", async () => {
    const { cluster, servers: members } = await servers({}, { ...WITHOUT_BATCH, peers: { timing: UNPROBED } });
    await using _ = cluster;
    const [a, b] = members as [Member, Member];
    a.link.lead(b.port);
    const answers = await until(
      () => b.get(JOBS),
      ({ text }) => text.includes("its address leads to this server itself"),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
  });

  test("5: a request that no server can serve is 404", async () => {
    const { cluster, servers: members } = await servers({}, WITHOUT_BATCH);
    await using _ = cluster;
    for (const server of members) {
      const answer = await server.get(UNKNOWN);
      expect([answer.status, answer.body.message]).toEqual([
        404,
        "GVR nobody.example.com/v1, things is not served by anything in this cluster",
      ]);
    }
  });

  test("6: a server is led to the wrong peer", async () => {
    const without = { ...WITHOUT_BATCH, peers: { timing: UNPROBED } };
    const { cluster, servers: members } = await servers({}, without, without);
    await using _ = cluster;
    const [a, b, c] = members as [Member, Member, Member];
    a.link.lead(c.port);
    const answers = await until(
      () => b.get(JOBS),
      ({ text }) => text.includes("it does not serve the resource either"),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
  });
});

/** A server that is asked what it serves and fails. */
const MUTE = {
  discovery: (_: unknown, response: { writeHead(status: number): { end(): void } }) => response.writeHead(500).end(),
};

/** The record of a server of this kind; published: that it has registered everything. */
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

describe("what a peer has registered", () => {
  test("is served by it, also when its document cannot be had", async () => {
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
    // Of a server that does not say whether that is all, what it has not registered is not known.
    const other = await member.get(`/apis/${EXTRA_GROUP}/v1/gadgets`);
    expect([other.status, rule(other)]).toEqual([503, "peer-not-described"]);
  });

  test("is all it stores when it says so: the rest is 404 without its document", async () => {
    const { cluster, servers: members } = await servers({});
    await using _ = cluster;
    const [member] = members as [Member];
    const stub = await StubPeer.start(cluster, member, { id: "stub", ...MUTE, record: ownRecord("stub", true) });
    await registerStorageVersions(member, stub.id, EXTRA_GROUPS);
    await member.knows("stub");
    expect((await member.get(WIDGETS)).status).toBe(200);
    expect((await member.get(`/apis/${EXTRA_GROUP}/v1/gadgets`)).status).toBe(404);
    // Discovery has nothing but documents to show, and does not take silence for absence.
    expect(resourcesIn(await member.discovery("/apis"))).not.toContain(`${EXTRA_GROUP}/v1 widgets`);
    expect((await member.get(`/apis/${EXTRA_GROUP}`)).status).toBe(503);
  });

  test("may be incomplete as long as its server is not ready: what nobody has registered is 503, naming it", async () => {
    const { cluster, servers: members } = await servers({});
    await using _ = cluster;
    const [member] = members as [Member];
    await StubPeer.start(cluster, member, { id: "stub", record: "none" });
    const answer = await eventually(
      () => member.get(UNKNOWN),
      ({ status }) => status !== 404,
    );
    expect([answer.status, rule(answer)]).toEqual([503, "peer-not-described"]);
    expect(answer.body.message).toContain("stub has not yet published what it serves");
  });
});

describe("entries of an ID that is no peer's", () => {
  test("speak of what is aggregated or custom, which is judged here", async () => {
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

  test("of a built-in resource are a server's that has come or gone, and say nothing", async () => {
    const { cluster, servers: members } = await servers(WITHOUT_BATCH);
    await using _ = cluster;
    const [member] = members as [Member];
    const jobs = [{ metadata: { name: "batch" }, versions: [{ version: "v1", resources: [{ resource: "jobs" }] }] }];
    await registerStorageVersions(member, "stranger", jobs);
    expect((await routeOf(member, JOBS)).rule).toBe("alone");
  });

  test("of a server that has left are not taken for aggregated: 503 for as long as it may come back", async () => {
    const { cluster, servers: members } = await servers({});
    await using _ = cluster;
    const [member] = members as [Member];
    const stub = await StubPeer.start(cluster, member, { id: "stub" });
    await registerStorageVersions(member, stub.id, EXTRA_GROUPS);
    await member.knows("stub");
    expect((await member.get(WIDGETS)).status).toBe(200);
    await stub.leave(member);
    await member.knows();
    const answer = await eventually(
      () => member.get(WIDGETS),
      (one) => rule(one) !== "peer-unreachable",
    );
    expect([answer.status, rule(answer)]).toEqual([503, "departed"]);
  });
});

describe("readiness", () => {
  test("a server whose own registration is not complete does not say what does not exist", async () => {
    await using cluster = new TestCluster("storageversion");
    const unreadable = `/registry/${storagePrefix}/batch.jobs`;
    await cluster.put(unreadable, "{");
    const member = await cluster.start({ skipReady: true });
    const hooks = await eventually(
      async () => (await member.get("/readyz?verbose")).text,
      (text) => text.includes("[+]poststarthook/start-kube-apiserver-identity-lease-garbage-collector ok"),
    );
    expect(hooks).toContain("[-]poststarthook/built-in-resources-storage-version-updater");
    const answer = await member.get(UNKNOWN);
    expect([answer.status, rule(answer)]).toEqual([503, "not-synced"]);
    await cluster.remove(unreadable);
    await eventually(
      () => member.get(UNKNOWN),
      ({ status }) => status === 404,
    );
  });

  test("without the StorageVersion API the source is refused at the start, in one sentence", async () => {
    await using cluster = new TestCluster();
    const starting = cluster.start({ peers: { routingSource: "storageversion" } });
    await expect(starting).rejects.toThrow(
      "--peer-routing-source=storageversion requires the feature gate StorageVersionAPI and its API: add --runtime-config=internal.apiserver.k8s.io/v1alpha1=true",
    );
  });
});

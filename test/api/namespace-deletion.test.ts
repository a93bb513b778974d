/** Tests of the deletion of namespaces as clients see it, on one server and in clusters of mixed releases. */
import { describe, expect, test } from "vitest";
import { sleep } from "../../src/base/clock.ts";
import { simulate, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import { StorageError, type Kv } from "../../src/storage/kv.ts";
import { configMap, deployment, pod, startServer, type Json, type StartOptions, type TestServer } from "./start.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";

const NAMESPACES = "/api/v1/namespaces";
const TEAM = `${NAMESPACES}/team`;
const PURGE = "/evenkeel/v1/purge-namespace?namespace=team";

function namespace(name = "team"): Json {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

async function keysOf(kv: Kv, name = "team"): Promise<string[]> {
  const { items } = await kv.range({ start: "/registry/", end: "/registry0" });
  return items
    .map(({ key }) => key.slice("/registry/".length))
    .filter((key) => key.split("/").includes(name) && !key.startsWith("events/"));
}

function condition({ body }: { body: Json }, type: string): string {
  const found = body.status.conditions?.find((one: Json) => one.type === type);
  return found === undefined ? "" : `${found.status} ${found.reason}: ${found.message}`;
}

describe("on one server, a deleted namespace", () => {
  async function start(options: StartOptions = {}): Promise<TestServer> {
    const api = await startServer({ strictRelease: false, ...options });
    await api.create(NAMESPACES, namespace());
    await api.world.advance(1_000);
    return api;
  }

  test("is removed within seconds with all its objects", async () => {
    await using api = await start();
    await api.create(`${TEAM}/configmaps`, configMap("a"));
    await api.create(`${TEAM}/pods`, pod("p"));
    await api.create("/apis/apps/v1/namespaces/team/deployments", deployment("d"));
    await api.create(`${TEAM}/events`, {
      ...{ apiVersion: "v1", kind: "Event", metadata: { name: "e", namespace: "team" } },
      involvedObject: { kind: "Pod", name: "p", namespace: "team" },
    });
    expect(await keysOf(api.kv)).toContain("serviceaccounts/team/default");
    expect((await api.delete(TEAM)).status).toBe(200);
    await api.world.advance(8_000);
    expect((await api.get(TEAM)).status).toBe(404);
    const { items } = await api.kv.range({ start: "/registry/", end: "/registry0" });
    expect(items.map(({ key }) => key).filter((key) => key.includes("/team"))).toEqual([]);
  });

  test("can be created again, and the new namespace stays", async () => {
    await using api = await start();
    await api.delete(TEAM);
    await api.world.advance(8_000);
    expect((await api.create(NAMESPACES, namespace())).status).toBe(201);
    await api.create(`${TEAM}/configmaps`, configMap("a"));
    await api.world.advance(60_000);
    expect(await keysOf(api.kv)).toEqual(["configmaps/team/a", "namespaces/team", "serviceaccounts/team/default"]);
  });

  test("waits for finalizers of its objects, and its conditions report them", async () => {
    await using api = await start();
    await api.create(`${TEAM}/configmaps`, configMap("a", { metadata: { finalizers: ["example.com/hold"] } }));
    await api.delete(TEAM);
    await api.world.advance(60_000);
    const terminating = await api.get(TEAM);
    expect(terminating.body.status.phase).toBe("Terminating");
    expect(condition(terminating, "NamespaceFinalizersRemaining")).toContain(
      "example.com/hold in 1 resource instances",
    );
    expect(condition(terminating, "NamespaceContentRemaining")).toContain("configmaps. has 1 resource instances");
    await api.mergePatch(`${TEAM}/configmaps/a`, { metadata: { finalizers: null } });
    await api.world.advance(9_000);
    expect(await keysOf(api.kv)).toEqual([]);
  });

  test("is not written repeatedly while finalizers block its deletion", async () => {
    await using api = await start();
    await api.create(`${TEAM}/configmaps`, configMap("a", { metadata: { finalizers: ["example.com/hold"] } }));
    await api.delete(TEAM);
    await api.world.advance(30_000);
    const { resourceVersion } = (await api.get(TEAM)).body.metadata;
    await api.world.advance(300_000);
    expect((await api.get(TEAM)).body.metadata.resourceVersion).toBe(resourceVersion);
  });

  test("is removed even if it contains thousands of objects", async () => {
    await using api = await start();
    for (let at = 0; at < 3_000; at++) await api.create(`${TEAM}/configmaps`, configMap(`c-${at}`));
    await api.delete(TEAM);
    await api.world.advance(10_000);
    expect(await keysOf(api.kv)).toEqual([]);
  });

  test("is removed even if the store is slow", async () => {
    let delayMs = 0;
    await using api = await start({
      wrapKv: (kv) =>
        overlaidKv(kv, {
          range: async (request) => {
            if (delayMs > 0) await sleep(api.world.clock, delayMs);
            return kv.range(request);
          },
          commit: async (change) => {
            if (delayMs > 0) await sleep(api.world.clock, delayMs);
            return kv.commit(change);
          },
        }),
    });
    for (let at = 0; at < 100; at++) await api.create(`${TEAM}/configmaps`, configMap(`c-${at}`));
    delayMs = 400;
    await api.delete(TEAM);
    await api.world.advance(180_000);
    expect(await keysOf(api.kv)).toEqual([]);
  });
});

describe("a client that finalizes a namespace that is not empty", () => {
  /** Starts a server without a namespace controller. */
  async function start(): Promise<TestServer> {
    const api = await startServer();
    await api.create(NAMESPACES, namespace());
    return api;
  }

  const finalized = { ...namespace(), spec: { finalizers: [] } };

  test("gets 409 with the remaining objects", async () => {
    await using api = await start();
    for (const name of ["a", "b"]) await api.create(`${TEAM}/configmaps`, configMap(name));
    await api.create(`${TEAM}/pods`, pod("p"));
    await api.delete(TEAM);
    const response = await api.put(`${TEAM}/finalize`, finalized);
    expect(response.status).toBe(409);
    expect(response.body).toMatchObject({
      reason: "Conflict",
      message:
        'Operation cannot be fulfilled on namespaces "team": the namespace still holds 3 objects: 2 configmaps, 1 pods',
      details: {
        name: "team",
        kind: "namespaces",
        causes: [
          { field: "rule", message: "namespace-holds-objects" },
          { field: "configmaps", message: "2" },
          { field: "pods", message: "1" },
        ],
      },
    });
    expect((await api.get(TEAM)).body.spec.finalizers).toEqual(["kubernetes"]);
    expect((await api.call("PUT", `${TEAM}/finalize?dryRun=All`, finalized)).status).toBe(409);
  });

  test("gets 409 also for objects that no server serves, including custom resources", async () => {
    await using api = await start();
    const value = Buffer.from(JSON.stringify({ kind: "X", apiVersion: "example.com/v1", metadata: {} }));
    for (const key of ["resourceclaimparameters/team/x", "example.com/widgets/team/y"])
      await api.kv.commit({ kind: "put", key: `/registry/${key}`, value, expectedRevision: 0 });
    await api.delete(TEAM);
    expect((await api.put(`${TEAM}/finalize`, finalized)).body.message).toMatch(
      /still holds 2 objects: 1 resourceclaimparameters\.resource\.k8s\.io, 1 widgets\.example\.com$/,
    );
  });

  test("cannot remove the last finalizer of the namespace's metadata either", async () => {
    await using api = await start();
    const metadata = { name: "team", finalizers: ["example.com/keep"] };
    await api.mergePatch(TEAM, { metadata });
    await api.put(`${TEAM}/finalize`, { ...finalized, metadata });
    await api.create(`${TEAM}/configmaps`, configMap("a"));
    await api.delete(TEAM);
    expect((await api.mergePatch(TEAM, { metadata: { finalizers: null } })).status).toBe(409);
    await api.delete(`${TEAM}/configmaps/a`);
    expect((await api.mergePatch(TEAM, { metadata: { finalizers: null } })).status).toBe(200);
    expect(await keysOf(api.kv)).toEqual([]);
  });

  test("cannot delete a namespace whose spec finalizers were removed before until the namespace is empty", async () => {
    await using api = await start();
    await api.put(`${TEAM}/finalize`, finalized);
    await api.create(`${TEAM}/configmaps`, configMap("a"));
    expect((await api.delete(TEAM)).status).toBe(409);
    await api.delete(`${TEAM}/configmaps/a`);
    expect((await api.delete(TEAM)).status).toBe(200);
    expect(await keysOf(api.kv)).toEqual([]);
  });

  test("gets 503 if the store is unreachable", async () => {
    let isDown = false;
    await using api = await startServer({
      wrapKv: (kv) =>
        overlaidKv(kv, {
          range: (request) =>
            isDown && request.countOnly === true
              ? Promise.reject(new StorageError("unavailable", "the store is unreachable"))
              : kv.range(request),
        }),
    });
    await api.create(NAMESPACES, namespace());
    await api.delete(TEAM);
    isDown = true;
    expect((await api.put(`${TEAM}/finalize`, finalized)).status).toBe(503);
    isDown = false;
    expect((await api.put(`${TEAM}/finalize`, finalized)).status).toBe(200);
  });
});

class ClusterRequests {
  readonly cluster: SimulatedCluster;

  constructor(cluster: SimulatedCluster) {
    this.cluster = cluster;
  }

  /** Sends a request to a server, and advances virtual time until the response arrives. */
  async through(
    server: SimulatedServer,
    method: string,
    target: string,
    body?: Json,
  ): Promise<{ status: number; body: Json }> {
    const asking = server.request({ method, target, ...(body === undefined ? {} : { body }) });
    const response = await this.cluster.world.run(asking, 120_000);
    return { status: response.status, body: JSON.parse(await response.text()) };
  }

  get(server: SimulatedServer, target: string): Promise<{ status: number; body: Json }> {
    return this.through(server, "GET", target);
  }
}

describe("in a cluster of mixed releases,", () => {
  const OLD = { release: "1.30", runtimeConfig: ["resource.k8s.io/v1alpha2=true"] };
  const NEW = { release: "1.31" };
  const PARAMETERS = "/apis/resource.k8s.io/v1alpha2/namespaces/team/resourceclaimparameters";
  const parameters = (name: string): Json => ({
    ...{ apiVersion: "resource.k8s.io/v1alpha2", kind: "ResourceClaimParameters", metadata: { name } },
  });

  /** Starts two servers. Only the older server serves the resourceclaimparameters in the namespace. */
  async function start(seed: number): Promise<{
    cluster: SimulatedCluster;
    ask: ClusterRequests;
    older: SimulatedServer;
    newer: SimulatedServer;
    kv: Kv;
  }> {
    const cluster = simulate({ seed });
    const newer = await cluster.addServer({ ...NEW, id: "newer" });
    const older = await cluster.addServer({ ...OLD, id: "older" });
    await cluster.settle();
    const ask = new ClusterRequests(cluster);
    expect((await ask.through(newer, "POST", NAMESPACES, namespace())).status).toBe(201);
    for (const name of ["a", "b"])
      expect((await ask.through(newer, "POST", PARAMETERS, parameters(name))).status).toBe(201);
    await ask.through(older, "POST", `${TEAM}/configmaps`, configMap("c"));
    return { cluster, ask, older, newer, kv: cluster.world.openKv() };
  }

  test("a departed server delays only namespaces that contain objects of its resources", async () => {
    const { cluster, ask, older, newer } = await start(3);
    const empty = `${NAMESPACES}/empty`;
    expect((await ask.through(newer, "POST", NAMESPACES, namespace("empty"))).status).toBe(201);
    await cluster.stop(older);
    await cluster.advance({ seconds: 60 });
    for (const target of [TEAM, empty]) expect((await ask.through(newer, "DELETE", target)).status).toBe(200);
    await cluster.advance({ seconds: 10 });
    expect((await ask.get(newer, empty)).status).toBe(404);
    expect((await ask.get(newer, TEAM)).body.status.phase).toBe("Terminating");
    cluster.shutDown();
  });

  test("no object is purged if the proxy is disabled and other servers are live", async () => {
    const cluster = simulate({ seed: 4 });
    const newer = await cluster.addServer({ ...NEW, id: "newer", mixedVersionProxy: false });
    const older = await cluster.addServer({ ...OLD, id: "older", mixedVersionProxy: false });
    await cluster.settle();
    const ask = new ClusterRequests(cluster);
    await ask.through(older, "POST", NAMESPACES, namespace());
    expect((await ask.through(older, "POST", PARAMETERS, parameters("a"))).status).toBe(201);
    await ask.through(newer, "DELETE", TEAM);
    await cluster.advance({ seconds: 30 });
    const listed = await ask.get(newer, PURGE);
    expect(listed.body.purgeable ?? []).toEqual([]);
    expect((await ask.through(newer, "POST", `${PURGE}&token=${listed.body.token ?? ""}`)).status).not.toBe(200);
    expect(await keysOf(cluster.world.openKv())).toContain("resourceclaimparameters/team/a");
    cluster.shutDown();
  });

  test("the server that deletes the namespace also deletes objects that only its peer serves", async () => {
    const { cluster, ask, newer, kv } = await start(1);
    expect((await ask.through(newer, "DELETE", TEAM)).status).toBe(200);
    await cluster.advance({ seconds: 10 });
    expect(await keysOf(kv)).toEqual([]);
    cluster.shutDown();
  });

  test.each(["stopped", "crashed"])(
    "a namespace stays, and a condition reports why, while the only server for some of its objects is %s, and is removed after that server has returned",
    async (how) => {
      const { cluster, ask, newer, older, kv } = await start(2);
      if (how === "stopped") await cluster.stop(older);
      else older.crash();
      expect((await ask.through(newer, "DELETE", TEAM)).status).toBe(200);
      await cluster.advance({ seconds: 120 });
      const terminating = await ask.get(newer, TEAM);
      expect(terminating.body.status.phase).toBe("Terminating");
      expect(condition(terminating, "NamespaceDeletionDiscoveryFailure")).toMatch(
        /^True DiscoveryFailed: .*resourceclaimparameters\.resource\.k8s\.io.*: older (departed at|cannot be reached)/,
      );
      // Only the objects that the missing server serves are left.
      expect(await keysOf(kv)).toEqual([
        "namespaces/team",
        "resourceclaimparameters/team/a",
        "resourceclaimparameters/team/b",
      ]);
      await cluster.restart(older, OLD);
      await cluster.advance({ seconds: 10 });
      expect((await ask.get(newer, TEAM)).status).toBe(404);
      expect(await keysOf(kv)).toEqual([]);
      cluster.shutDown();
    },
  );

  test("the condition and the status name the unreachable server of some objects, and why it is unreachable, in the same words", async () => {
    const { cluster, ask, newer, older } = await start(6);
    cluster.partition(newer, older);
    cluster.partition(older, newer);
    expect((await ask.through(newer, "DELETE", TEAM)).status).toBe(200);
    await cluster.advance({ seconds: 20 });
    const { servers, waitingFor } = (await ask.get(newer, "/evenkeel/v1/status")).body;
    const { unreachableBecause } = servers.find(({ id }: Json) => id === "older");
    expect(unreachableBecause).toMatch(/^(no|connection) /);
    const named = `older cannot be reached (${unreachableBecause})`;
    const message = condition(await ask.get(newer, TEAM), "NamespaceDeletionDiscoveryFailure");
    expect(message).toMatch(/^True DiscoveryFailed: .*resourceclaimparameters/);
    expect(message).toContain(named);
    expect(waitingFor.find(({ name }: Json) => name === "team").because).toContain(named);
    cluster.shutDown();
  });

  test("a server rejects a finalization by another controller while objects of a departed server remain", async () => {
    const { cluster, ask, newer, older } = await start(3);
    await cluster.stop(older);
    await ask.through(newer, "DELETE", TEAM);
    await cluster.advance({ seconds: 30 });
    const response = await ask.through(newer, "PUT", `${TEAM}/finalize`, { ...namespace(), spec: { finalizers: [] } });
    expect(response.status).toBe(409);
    expect(response.body.message).toContain("2 resourceclaimparameters.resource.k8s.io");
    cluster.shutDown();
  });

  test("objects of a server that does not return can be purged only after the grace period", async () => {
    const { cluster, ask, newer, older, kv } = await start(4);
    expect((await ask.get(newer, PURGE)).status).toBe(409);
    await cluster.stop(older);
    await ask.through(newer, "DELETE", TEAM);
    await cluster.advance({ seconds: 60 });
    const early = await ask.get(newer, PURGE);
    expect(early.body).toMatchObject({
      keys: [],
      kept: [{ resource: "resourceclaimparameters.resource.k8s.io", objects: 2 }],
    });
    expect(early.body.kept[0].because).toMatch(/^older departed at /);
    expect((await ask.through(newer, "POST", `${PURGE}&token=x`)).status).toBe(409);
    await cluster.advance({ seconds: 660 });
    expect(condition(await ask.get(newer, TEAM), "NamespaceDeletionContentFailure")).toContain(
      'no server of this cluster serves resourceclaimparameters.resource.k8s.io: run "evenkeel purge-namespace team"',
    );
    const { body } = await ask.get(newer, PURGE);
    expect(body.keys.map(({ resource, name }: Json) => `${resource} ${name}`)).toEqual([
      "resourceclaimparameters.resource.k8s.io a",
      "resourceclaimparameters.resource.k8s.io b",
    ]);
    expect((await ask.through(newer, "POST", `${PURGE}&token=other`)).status).toBe(409);
    const purged = await ask.through(newer, "POST", `${PURGE}&token=${body.token}`);
    expect(purged.body).toMatchObject({ removed: 2, changed: 0, more: 0 });
    await cluster.advance({ seconds: 10 });
    expect(await keysOf(kv)).toEqual([]);
    const events = await ask.get(newer, `${NAMESPACES}/default/events?fieldSelector=reason=NamespacePurged`);
    expect(events.body.items[0].message).toContain("2 resourceclaimparameters.resource.k8s.io that no server served");
    cluster.shutDown();
  });

  test("a new server knows which resources a departed server served", async () => {
    const { cluster, ask, newer, older, kv } = await start(5);
    older.crash();
    await ask.through(newer, "DELETE", TEAM);
    await cluster.stop(newer);
    const third = await cluster.addServer({ ...NEW, id: "third" });
    await cluster.advance({ seconds: 60 });
    expect(condition(await ask.get(third, TEAM), "NamespaceDeletionDiscoveryFailure")).toContain("older");
    await cluster.restart(older, OLD);
    await cluster.advance({ seconds: 30 });
    expect(await keysOf(kv)).toEqual([]);
    cluster.shutDown();
  });
});

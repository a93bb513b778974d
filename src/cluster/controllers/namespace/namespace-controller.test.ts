import { describe, expect, test } from "vitest";
import { configMap, pod, startServer, type Json, type StartOptions } from "../../../../test/api/start.ts";
import { RELEASES } from "../../../objects/catalog/release.ts";
import { localGroups } from "../../../serving/discovery/local.ts";
import { resourcesOf } from "../merge-cluster-resources.ts";
import { CONTROLLERS } from "../controller-names.ts";
import { Deleting } from "../../../../test/testing/cluster/controllers/namespace/deleting.ts";
import { FixedResources } from "../../../../test/testing/cluster/controllers/namespace/fixed-resources.ts";

const NAMESPACES = "/api/v1/namespaces";
const TEAM = `${NAMESPACES}/team`;

/** A server with the namespace "team", which is still active. */
async function start(options: StartOptions = {}): Promise<Deleting & AsyncDisposable> {
  const api = await startServer({ controllers: CONTROLLERS.map((name) => `-${name}`), ...options });
  const resources = new FixedResources(resourcesOf(localGroups(api.server.catalog)));
  await api.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
  const deleting = new Deleting(api, resources);
  return Object.assign(deleting, { [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() });
}

function held(object: Json, finalizer = "example.com/hold"): Json {
  return { ...object, metadata: { ...object.metadata, finalizers: [finalizer] } };
}

describe("a namespace that is being deleted", () => {
  test("is emptied at once, and finalized after 5 s, when every server has seen its deletion", async () => {
    await using deleting = await start();
    const { api } = deleting;
    await api.create(`${TEAM}/configmaps`, configMap("a"));
    await api.create(`${TEAM}/pods`, pod("p"));
    await api.delete(TEAM);
    expect(await deleting.reconcile()).toEqual({ requeueAfterMs: 5_000 });
    expect(await deleting.keys()).toEqual(["namespaces/team"]);
    expect(await deleting.condition("NamespaceContentRemaining")).toBe(
      "False ContentRemoved: All content successfully removed",
    );
    await api.world.advance(5_000);
    expect(await deleting.reconcile()).toBeUndefined();
    expect(await deleting.keys()).toEqual([]);
    expect(deleting.metrics.render()).toContain("evenkeel_namespaces_finalized_total 1");
  });

  test("is processed, but an active or absent namespace is not", async () => {
    await using deleting = await start();
    await deleting.api.create(`${TEAM}/configmaps`, configMap("a"));
    expect(await deleting.reconcile()).toBeUndefined();
    expect(await deleting.reconcile("nowhere")).toBeUndefined();
    expect(deleting.requests).toEqual([`GET ${TEAM}`, `GET ${NAMESPACES}/nowhere`]);
  });

  test("causes one request per resource if it has no content", async () => {
    await using deleting = await start();
    await deleting.api.delete(TEAM);
    await deleting.reconcile();
    expect(deleting.requests.filter((request) => request.startsWith("DELETE"))).toEqual([]);
    expect(deleting.requests.filter((request) => request.includes("/team/configmaps"))).toHaveLength(1);
  });

  test("gets the phase Terminating from the controller if it does not have it yet", async () => {
    await using deleting = await start();
    const { body } = await deleting.api.delete(TEAM);
    await deleting.api.put(`${TEAM}/status`, { ...body, status: { phase: "Active" } });
    await deleting.reconcile();
    expect((await deleting.api.get(TEAM)).body.status.phase).toBe("Terminating");
  });

  test.each(RELEASES)("is finalized by a server of %s that serves all resources of its release", async (release) => {
    await using deleting = await start({ release, runtimeConfig: ["api/all=true"] });
    await deleting.api.create(`${TEAM}/secrets`, { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } });
    await deleting.api.delete(TEAM);
    expect(await deleting.finish()).toBe(2);
    expect(await deleting.keys()).toEqual([]);
  });

  test("with thousands of objects is emptied by several short requests", async () => {
    await using deleting = await start();
    for (let at = 0; at < 1_700; at++) await deleting.api.create(`${TEAM}/configmaps`, configMap(`c-${at}`));
    await deleting.api.delete(TEAM);
    await deleting.reconcile();
    const deletions = deleting.requests.filter((request) => request.startsWith("DELETE"));
    expect(deletions).toHaveLength(4);
    expect(deletions.filter((request) => request.includes("limit=500"))).toHaveLength(3);
    expect(await deleting.keys()).toEqual(["namespaces/team"]);
  });

  test("keeps finalizers of other clients, and the controller has nothing more to do", async () => {
    await using deleting = await start();
    await deleting.api.mergePatch(TEAM, { metadata: { finalizers: ["example.com/keep"] } });
    await deleting.api.delete(TEAM);
    await deleting.finish();
    expect((await deleting.api.get(TEAM)).body.spec).toEqual({});
    expect(await deleting.reconcile()).toBeUndefined();
  });
});

describe("objects that are not deleted at once", () => {
  test("block the namespace by their finalizers, and the conditions name them", async () => {
    await using deleting = await start();
    await deleting.api.create(`${TEAM}/configmaps`, held(configMap("a")));
    await deleting.api.delete(TEAM);
    expect(await deleting.reconcile()).toEqual({ requeueAfterMs: 500 });
    expect(await deleting.condition("NamespaceFinalizersRemaining")).toBe(
      "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
    );
    expect(await deleting.condition("NamespaceContentRemaining")).toBe(
      "True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
    );
    expect(await deleting.condition("NamespaceDeletionContentFailure")).toMatch(/^False /);
    expect(deleting.metrics.render()).toContain("evenkeel_namespaces_blocked 1");
    await deleting.api.mergePatch(`${TEAM}/configmaps/a`, { metadata: { finalizers: null } });
    await deleting.finish();
    expect(await deleting.keys()).toEqual([]);
    expect(deleting.metrics.render()).toContain("evenkeel_namespaces_blocked 0");
  });

  test("do not keep other objects of their resource from being deleted, even if 500 of them come first", async () => {
    await using deleting = await start();
    for (let at = 0; at < 510; at++) await deleting.api.create(`${TEAM}/configmaps`, held(configMap(`a-${at}`)));
    await deleting.api.create(`${TEAM}/configmaps`, configMap("b"));
    await deleting.api.delete(TEAM);
    await deleting.reconcile();
    expect((await deleting.api.get(`${TEAM}/configmaps/b`)).status).toBe(404);
    expect(await deleting.condition("NamespaceContentRemaining")).toContain("configmaps. has 510 resource instances");
  });

  test("delay the next attempt more and more, until their number changes", async () => {
    await using deleting = await start();
    await deleting.api.create(`${TEAM}/configmaps`, held(configMap("a")));
    await deleting.api.create(`${TEAM}/configmaps`, held(configMap("b")));
    await deleting.api.delete(TEAM);
    const waits: (number | undefined)[] = [];
    for (let look = 0; look < 6; look++) waits.push((await deleting.reconcile())?.requeueAfterMs);
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000]);
    await deleting.api.mergePatch(`${TEAM}/configmaps/a`, { metadata: { finalizers: null } });
    expect(await deleting.reconcile()).toEqual({ requeueAfterMs: 500 });
  });

  test("are reported in the conditions only if something has changed", async () => {
    await using deleting = await start();
    await deleting.api.create(`${TEAM}/configmaps`, held(configMap("a")));
    await deleting.api.delete(TEAM);
    await deleting.reconcile();
    const { body } = await deleting.api.get(TEAM);
    for (let look = 0; look < 5; look++) await deleting.reconcile();
    expect((await deleting.api.get(TEAM)).body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
  });
});

describe("pods", () => {
  test("are deleted first, and nothing else is deleted while one is left", async () => {
    await using deleting = await start();
    await deleting.api.create(`${TEAM}/pods`, held(pod("p")));
    await deleting.api.create(`${TEAM}/configmaps`, configMap("a"));
    await deleting.api.delete(TEAM);
    await deleting.reconcile();
    expect((await deleting.api.get(`${TEAM}/pods/p`)).body.metadata.deletionTimestamp).toBeDefined();
    expect((await deleting.api.get(`${TEAM}/configmaps/a`)).body.data).toEqual({ a: "1" });
    await deleting.api.mergePatch(`${TEAM}/pods/p`, { metadata: { finalizers: null } });
    await deleting.finish();
    expect(await deleting.keys()).toEqual([]);
  });

  test("that terminate gracefully on a node are reported as a failure only after their grace period", async () => {
    await using deleting = await start();
    await deleting.api.create(`${TEAM}/pods`, pod("p", { nodeName: "n", terminationGracePeriodSeconds: 30 }));
    await deleting.api.delete(TEAM);
    await deleting.reconcile();
    expect(await deleting.condition("NamespaceContentRemaining")).toContain("pods. has 1 resource instances");
    expect(await deleting.condition("NamespaceDeletionContentFailure")).toMatch(/^False /);
    await deleting.api.world.advance(31_000);
    await deleting.reconcile();
    expect(await deleting.condition("NamespaceDeletionContentFailure")).toBe(
      "True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: team for gvr: /v1, Resource=pods",
    );
    await deleting.api.delete(`${TEAM}/pods/p`, { gracePeriodSeconds: 0 });
    await deleting.finish();
    expect(await deleting.keys()).toEqual([]);
  });

  test("are listed before all other resources, and events after them", async () => {
    await using deleting = await start();
    await deleting.api.delete(TEAM);
    await deleting.reconcile();
    const listed = deleting.requests.filter(
      (request) => request.startsWith("GET") && request.includes("/namespaces/team/"),
    );
    expect(listed[0]).toContain("/pods?");
    expect(listed.slice(-2).every((request) => request.includes("/events?"))).toBe(true);
  });
});

describe("a resource that is unknown or unreachable", () => {
  const doubt = {
    ...{ group: "resource.k8s.io", resource: "resourceclaimparameters", namespaced: true },
    ...{ server: "server-b", because: "departed at 2030-01-01T00:00:00Z" },
  };

  test("keeps the namespace although no object is found, and the condition names group, resource, server and reason", async () => {
    await using deleting = await start();
    await deleting.api.create(`${TEAM}/configmaps`, configMap("a"));
    await deleting.api.delete(TEAM);
    deleting.resources.change({ doubts: [doubt] });
    for (let look = 0; look < 8; look++)
      await deleting.api.world.advance((await deleting.reconcile())!.requeueAfterMs!);
    expect(await deleting.keys()).toEqual(["namespaces/team"]);
    expect(await deleting.condition("NamespaceDeletionDiscoveryFailure")).toBe(
      "True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: resourceclaimparameters.resource.k8s.io: server-b departed at 2030-01-01T00:00:00Z",
    );
    deleting.resources.change({ doubts: [] });
    expect(await deleting.reconcile()).toBeUndefined();
    expect(await deleting.keys()).toEqual([]);
  });

  test("does not keep the namespace if it is cluster-scoped", async () => {
    await using deleting = await start();
    await deleting.api.delete(TEAM);
    deleting.resources.change({ doubts: [{ ...doubt, namespaced: false }] });
    await deleting.finish();
    expect(await deleting.keys()).toEqual([]);
  });

  test("is assumed to exist while the live servers are unknown", async () => {
    await using deleting = await start();
    await deleting.api.delete(TEAM);
    await deleting.api.world.advance(10_000);
    deleting.resources.isCurrent = false;
    await deleting.reconcile();
    await deleting.api.world.advance(10_000);
    await deleting.reconcile();
    expect(await deleting.keys()).toEqual(["namespaces/team"]);
    expect(await deleting.condition("NamespaceDeletionDiscoveryFailure")).toMatch(/^True DiscoveryFailed/);
  });

  test("does not keep other resources from being emptied", async () => {
    await using deleting = await start();
    await deleting.api.create(`${TEAM}/configmaps`, configMap("a"));
    await deleting.api.delete(TEAM);
    // Discovery lists the resource in a version that the server does not serve, so the 404 proves nothing.
    deleting.resources.replace("secrets", { versions: ["v9"] });
    await deleting.reconcile();
    await deleting.api.world.advance(10_000);
    await deleting.reconcile();
    expect(await deleting.keys()).toEqual(["namespaces/team"]);
    expect(await deleting.condition("NamespaceDeletionContentFailure")).toBe(
      "True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: secrets: the server could not find the requested resource",
    );
  });

  test("is requested in another version if there is one", async () => {
    await using deleting = await start();
    await deleting.api.create(`${TEAM}/configmaps`, configMap("a"));
    await deleting.api.delete(TEAM);
    deleting.resources.replace("configmaps", { versions: ["v9", "v1"] });
    await deleting.finish();
    expect(await deleting.keys()).toEqual([]);
  });

  test("is assumed to exist if the served resources change during an attempt", async () => {
    await using deleting = await start();
    await deleting.api.delete(TEAM);
    await deleting.reconcile();
    await deleting.api.world.advance(5_000);
    const { resources } = deleting;
    const served = resources.served.bind(resources);
    // An attempt calls `served` twice at its beginning and once at its end. Only the last call returns other resources.
    let asked = 0;
    resources.served = () => (asked++ === 2 ? served().slice(1) : served());
    expect(await deleting.reconcile()).toEqual({ requeueAfterMs: 500 });
    expect(await deleting.keys()).toEqual(["namespaces/team"]);
  });
});

describe("a resource without deletecollection", () => {
  test("is deleted object by object", async () => {
    await using deleting = await start();
    for (const name of ["a", "b", "c"]) await deleting.api.create(`${TEAM}/configmaps`, configMap(name));
    await deleting.api.delete(TEAM);
    deleting.resources.replace("configmaps", { verbs: new Set(["list", "delete"]) });
    await deleting.finish();
    expect(deleting.requests.filter((request) => request.startsWith("DELETE"))).toEqual([
      `DELETE ${TEAM}/configmaps/a`,
      `DELETE ${TEAM}/configmaps/b`,
      `DELETE ${TEAM}/configmaps/c`,
    ]);
    expect(await deleting.keys()).toEqual([]);
  });
});

describe("a stored object that no server serves", () => {
  async function withLeftover(): Promise<Deleting & AsyncDisposable> {
    const deleting = await start();
    const value = Buffer.from(JSON.stringify({ kind: "X", apiVersion: "resource.k8s.io/v1alpha2", metadata: {} }));
    const key = "/registry/resourceclaimparameters/team/left";
    await deleting.api.kv.commit({ kind: "put", key, value, expectedRevision: 0 });
    await deleting.api.delete(TEAM);
    await deleting.reconcile();
    await deleting.api.world.advance(5_000);
    return deleting;
  }

  test("is not reported as unserved by a server without the mixed version proxy, which knows only itself", async () => {
    await using deleting = await withLeftover();
    deleting.resources.isOneServer = true;
    await deleting.reconcile();
    const condition = await deleting.condition("NamespaceDeletionContentFailure");
    expect(condition).toContain(
      "does not serve resourceclaimparameters.resource.k8s.io, and without the mixed version",
    );
    expect(condition).not.toContain("purge-namespace");
  });

  test("keeps the namespace, and the conditions name the resource and the remedy", async () => {
    await using deleting = await withLeftover();
    expect(await deleting.reconcile()).toEqual({ requeueAfterMs: 500 });
    expect(await deleting.condition("NamespaceContentRemaining")).toBe(
      "True SomeResourcesRemain: Some resources are remaining: resourceclaimparameters.resource.k8s.io has 1 resource instances",
    );
    expect(await deleting.condition("NamespaceDeletionContentFailure")).toBe(
      'True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: no server of this cluster serves resourceclaimparameters.resource.k8s.io: run "evenkeel purge-namespace team" to list and remove its objects',
    );
  });

  test("is not reported again at every attempt", async () => {
    await using deleting = await withLeftover();
    await deleting.reconcile();
    const { body } = await deleting.api.get(TEAM);
    for (let look = 0; look < 4; look++) await deleting.reconcile();
    expect((await deleting.api.get(TEAM)).body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
  });
});

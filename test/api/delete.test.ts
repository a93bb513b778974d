import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, deployment, names, PODS, pod, startServer, type TestServer } from "./start.ts";

const CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";

describe("a deletion", () => {
  test("returns the name and uid of the deleted object", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, configMap("d"));
    const deleted = await api.delete(`${CONFIG_MAPS}/d`);
    expect(deleted.status).toBe(200);
    expect(deleted.body).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Success",
      details: { name: "d", kind: "configmaps", uid: body.metadata.uid },
    });
    expect((await api.get(`${CONFIG_MAPS}/d`)).status).toBe(404);
    expect((await api.delete(`${CONFIG_MAPS}/d`)).body).toMatchObject({
      reason: "NotFound",
      message: 'configmaps "d" not found',
    });
  });

  test("returns the API group of the deleted object's kind", async () => {
    await using api = await startServer();
    await api.create(DEPLOYMENTS, deployment("web"));
    expect((await api.delete(`${DEPLOYMENTS}/web`)).body.details).toMatchObject({
      name: "web",
      group: "apps",
      kind: "deployments",
    });
  });

  test("of a ServiceAccount returns the object itself", async () => {
    await using api = await startServer();
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await api.create(accounts, { metadata: { name: "a" } });
    const deleted = await api.delete(`${accounts}/a`);
    expect(deleted.status).toBe(200);
    expect(deleted.body).toMatchObject({ kind: "ServiceAccount", apiVersion: "v1", metadata: { name: "a" } });
    expect((await api.get(`${accounts}/a`)).status).toBe(404);
  });

  test("returns 409 if the uid or resource version of its preconditions does not match", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, configMap("d"));
    const { uid, resourceVersion } = body.metadata;
    const wrongUid = await api.delete(`${CONFIG_MAPS}/d`, {
      kind: "DeleteOptions",
      apiVersion: "v1",
      preconditions: { uid: "other" },
    });
    expect(wrongUid.status).toBe(409);
    expect(wrongUid.body.message).toBe(
      `Operation cannot be fulfilled on ConfigMap "d": the UID in the precondition (other) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    );
    expect((await api.delete(`${CONFIG_MAPS}/d`, { preconditions: { resourceVersion: "1" } })).status).toBe(409);
    expect((await api.delete(`${CONFIG_MAPS}/d`, { preconditions: { uid, resourceVersion } })).status).toBe(200);
  });

  test("accepts delete options of meta.k8s.io/v1, but not of another kind", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("d"));
    expect((await api.delete(`${CONFIG_MAPS}/d`, { kind: "Secret", apiVersion: "v1" })).status).toBe(400);
    expect((await api.delete(`${CONFIG_MAPS}/d`, { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" })).status).toBe(
      200,
    );
  });

  test("with malformed delete options is rejected and deletes nothing", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("d"));
    expect((await api.delete(`${CONFIG_MAPS}/d`, "{")).status).toBe(400);
    expect((await api.delete(`${CONFIG_MAPS}/d`, "[]")).status).toBe(400);
    expect((await api.delete(`${CONFIG_MAPS}/d`, { gracePeriodSeconds: "soon" })).status).toBe(400);
    expect((await api.delete(`${CONFIG_MAPS}/d`, { preconditions: { uid: 7 } })).status).toBe(400);
    expect((await api.delete(`${CONFIG_MAPS}/d?gracePeriodSeconds=soon`)).status).toBe(400);
    expect((await api.get(`${CONFIG_MAPS}/d`)).status).toBe(200);
  });

  test("of a system priority class is rejected, and of another priority class is accepted", async () => {
    await using api = await startServer();
    const classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    const rejected = await api.delete(`${classes}/system-node-critical`);
    expect([rejected.status, rejected.body.message]).toEqual([
      403,
      'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted',
    ]);
    await api.create(classes, { metadata: { name: "mine" }, value: 1 });
    expect((await api.delete(`${classes}/mine`)).status).toBe(200);
  });
});

describe("an object with finalizers", () => {
  const held = configMap("f", { metadata: { finalizers: ["example.com/hold"] } });

  test("stays after its deletion, with a deletion timestamp", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, held);
    const deleted = await api.delete(`${CONFIG_MAPS}/f`);
    expect(deleted.status).toBe(200);
    expect(deleted.body).toMatchObject({
      kind: "ConfigMap",
      metadata: {
        deletionTimestamp: "2030-01-01T00:00:00Z",
        deletionGracePeriodSeconds: 0,
        finalizers: ["example.com/hold"],
      },
    });
  });

  test("is not changed by a second deletion", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, held);
    const first = await api.delete(`${CONFIG_MAPS}/f`);
    await api.world.advance(5_000);
    const second = await api.delete(`${CONFIG_MAPS}/f`);
    expect(second.body).toEqual(first.body);
  });

  test("can be changed during its deletion, but gets no new finalizers", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, held);
    await api.delete(`${CONFIG_MAPS}/f`);
    expect((await api.mergePatch(`${CONFIG_MAPS}/f`, { data: { z: "1" } })).status).toBe(200);
    const more = await api.mergePatch(`${CONFIG_MAPS}/f`, {
      metadata: { finalizers: ["example.com/hold", "example.com/more"] },
    });
    expect(more.status).toBe(422);
    expect(more.body.message).toBe(
      'ConfigMap "f" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}',
    );
  });

  test("cannot be undeleted", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, held);
    await api.delete(`${CONFIG_MAPS}/f`);
    const response = await api.mergePatch(`${CONFIG_MAPS}/f`, { metadata: { deletionTimestamp: null } });
    expect(response.body.metadata.deletionTimestamp).toBe("2030-01-01T00:00:00Z");
  });

  test("is removed by the write that removes its last finalizer, and watches receive DELETED", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, held);
    const { body } = await api.delete(`${CONFIG_MAPS}/f`);
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
    const last = await api.jsonPatch(`${CONFIG_MAPS}/f`, [{ op: "remove", path: "/metadata/finalizers" }]);
    expect(last.status).toBe(200);
    expect(last.body).toMatchObject({
      kind: "ConfigMap",
      metadata: { name: "f", deletionTimestamp: "2030-01-01T00:00:00Z" },
    });
    expect(last.body.metadata).not.toHaveProperty("finalizers");
    expect((await api.get(`${CONFIG_MAPS}/f`)).status).toBe(404);
    const events = await watch.events();
    expect(events.map((event) => event.type)).toEqual(["DELETED"]);
    expect(events[0].object.metadata.resourceVersion).toBe(last.body.metadata.resourceVersion);
  });

  test("stays if one of two finalizers is removed", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("f", { metadata: { finalizers: ["example.com/a", "example.com/b"] } }));
    await api.delete(`${CONFIG_MAPS}/f`);
    await api.mergePatch(`${CONFIG_MAPS}/f`, { metadata: { finalizers: ["example.com/b"] } });
    expect((await api.get(`${CONFIG_MAPS}/f`)).status).toBe(200);
  });

  test("must have qualified or standard finalizer names", async () => {
    await using api = await startServer();
    expect((await api.create(CONFIG_MAPS, configMap("a", { metadata: { finalizers: ["hold"] } }))).status).toBe(422);
    expect((await api.create(CONFIG_MAPS, configMap("b", { metadata: { finalizers: ["orphan"] } }))).status).toBe(201);
    expect(
      (await api.create(CONFIG_MAPS, configMap("c", { metadata: { finalizers: ["orphan", "foregroundDeletion"] } })))
        .status,
    ).toBe(422);
  });
});

describe("a deletion policy", () => {
  const cases = [
    ["propagationPolicy=Foreground", ["foregroundDeletion"]],
    ["propagationPolicy=Orphan", ["orphan"]],
    ["orphanDependents=true", ["orphan"]],
  ] as const;
  test.each(cases)(
    "(%s) keeps the object with a deletion timestamp and the finalizers %j",
    async (query, finalizers) => {
      await using api = await startServer();
      await api.create(CONFIG_MAPS, configMap("p"));
      const deleted = await api.delete(`${CONFIG_MAPS}/p?${query}`);
      expect(deleted.status).toBe(200);
      expect(deleted.body.metadata.finalizers).toEqual(finalizers);
      expect((await api.get(`${CONFIG_MAPS}/p`)).body.metadata.deletionTimestamp).toBeDefined();
    },
  );

  test("(Background) deletes the object immediately", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("p"));
    expect((await api.delete(`${CONFIG_MAPS}/p?propagationPolicy=Background`)).body.status).toBe("Success");
    expect((await api.get(`${CONFIG_MAPS}/p`)).status).toBe(404);
  });

  test("of a later deletion replaces the policy of an earlier deletion", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("p"));
    await api.delete(`${CONFIG_MAPS}/p`, { propagationPolicy: "Foreground" });
    expect((await api.delete(`${CONFIG_MAPS}/p`, { propagationPolicy: "Orphan" })).body.metadata.finalizers).toEqual([
      "orphan",
    ]);
    expect((await api.delete(`${CONFIG_MAPS}/p`)).body.metadata.finalizers).toEqual(["orphan"]);
    expect((await api.delete(`${CONFIG_MAPS}/p`, { propagationPolicy: "Background" })).body.status).toBe("Success");
    expect((await api.get(`${CONFIG_MAPS}/p`)).status).toBe(404);
  });

  test("defaults to Orphan for a replication controller", async () => {
    await using api = await startServer();
    const controller = {
      metadata: { name: "rc" },
      spec: { template: deployment("x").spec.template },
    };
    await api.create(CONTROLLERS, controller);
    expect((await api.delete(`${CONTROLLERS}/rc`)).body.metadata.finalizers).toEqual(["orphan"]);
    await api.create(CONTROLLERS, { ...controller, metadata: { name: "rc2" } });
    expect((await api.delete(`${CONTROLLERS}/rc2?propagationPolicy=Background`)).body.status).toBe("Success");
  });

  test("is ignored for events", async () => {
    await using api = await startServer();
    const events = "/api/v1/namespaces/default/events";
    await api.create(events, {
      metadata: { name: "e" },
      involvedObject: { kind: "Pod", namespace: "default", name: "p" },
    });
    await api.delete(`${events}/e?propagationPolicy=Foreground`);
    expect((await api.get(`${events}/e`)).status).toBe(404);
  });

  test("is invalid together with orphanDependents, or with an unknown value", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("p"));
    const both = await api.delete(`${CONFIG_MAPS}/p`, { propagationPolicy: "Orphan", orphanDependents: true });
    expect(both.status).toBe(422);
    const unknown = await api.delete(`${CONFIG_MAPS}/p`, { propagationPolicy: "Sideways" });
    expect(unknown.status).toBe(422);
    expect(unknown.body.message).toBe(
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"',
    );
    expect((await api.get(`${CONFIG_MAPS}/p`)).body.metadata).not.toHaveProperty("deletionTimestamp");
  });

  test("(orphanDependents=false) returns 202 if a finalizer keeps the object", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("p", { metadata: { finalizers: ["example.com/hold"] } }));
    expect((await api.delete(`${CONFIG_MAPS}/p`, { orphanDependents: false })).status).toBe(202);
  });
});

describe("a graceful deletion of a pod", () => {
  const running = (name: string) => pod(name, { nodeName: "n1", terminationGracePeriodSeconds: 40 });

  test("without a node removes the pod immediately and returns it", async () => {
    await using api = await startServer();
    await api.create(PODS, pod("p"));
    const deleted = await api.delete(`${PODS}/p`);
    expect(deleted.body).toMatchObject({ kind: "Pod", metadata: { name: "p" } });
    expect((await api.get(`${PODS}/p`)).status).toBe(404);
  });

  test("on a node uses the termination grace period of the pod", async () => {
    await using api = await startServer();
    await api.create(PODS, running("p"));
    const { body } = await api.delete(`${PODS}/p`);
    expect(body.metadata).toMatchObject({
      deletionTimestamp: "2030-01-01T00:00:40Z",
      deletionGracePeriodSeconds: 40,
      generation: 2,
    });
    expect((await api.get(`${PODS}/p`)).status).toBe(200);
  });

  test("can set the grace period, and a negative value means one second", async () => {
    await using api = await startServer();
    await api.create(PODS, running("p"));
    expect((await api.delete(`${PODS}/p?gracePeriodSeconds=7`)).body.metadata.deletionGracePeriodSeconds).toBe(7);
    await api.create(PODS, running("q"));
    expect((await api.delete(`${PODS}/q`, { gracePeriodSeconds: -5 })).body.metadata.deletionGracePeriodSeconds).toBe(
      1,
    );
  });

  test("can be shortened by a later deletion, but not extended", async () => {
    await using api = await startServer();
    await api.create(PODS, running("p"));
    await api.delete(`${PODS}/p?gracePeriodSeconds=20`);
    await api.world.advance(5_000);
    expect((await api.delete(`${PODS}/p?gracePeriodSeconds=60`)).body.metadata).toMatchObject({
      deletionTimestamp: "2030-01-01T00:00:20Z",
      deletionGracePeriodSeconds: 20,
    });
    const shorter = (await api.delete(`${PODS}/p?gracePeriodSeconds=8`)).body.metadata;
    expect(shorter).toMatchObject({
      deletionTimestamp: "2030-01-01T00:00:08Z",
      deletionGracePeriodSeconds: 8,
      generation: 2,
    });
  });

  test("keeps the running grace period if a later deletion sets none", async () => {
    await using api = await startServer();
    await api.create(PODS, running("p"));
    await api.delete(`${PODS}/p?gracePeriodSeconds=100`);
    expect((await api.delete(`${PODS}/p`)).body.metadata.deletionGracePeriodSeconds).toBe(100);
  });

  test("with finalizers removes the pod with its last finalizer, even if the pod has terminated before", async () => {
    await using api = await startServer();
    await api.create(PODS, { ...running("p"), metadata: { name: "p", finalizers: ["example.com/hold"] } });
    await api.delete(`${PODS}/p`);
    const ended = await api.delete(`${PODS}/p?gracePeriodSeconds=0`);
    expect(ended.body.metadata).toMatchObject({ deletionGracePeriodSeconds: 0, finalizers: ["example.com/hold"] });
    await api.mergePatch(`${PODS}/p`, { metadata: { finalizers: null } });
    expect((await api.get(`${PODS}/p`)).status).toBe(404);
  });

  test("with a grace period of zero seconds removes the pod immediately, as the kubelet requests after termination", async () => {
    await using api = await startServer();
    await api.create(PODS, running("p"));
    await api.delete(`${PODS}/p`);
    expect((await api.delete(`${PODS}/p?gracePeriodSeconds=0`)).status).toBe(200);
    expect((await api.get(`${PODS}/p`)).status).toBe(404);
  });

  test("that has terminated removes the pod immediately", async () => {
    await using api = await startServer();
    await api.create(PODS, running("p"));
    await api.mergePatch(`${PODS}/p/status`, { status: { phase: "Succeeded" } });
    await api.delete(`${PODS}/p`);
    expect((await api.get(`${PODS}/p`)).status).toBe(404);
  });

  test("keeps the pod until the grace period is over, even after its last finalizer is removed", async () => {
    await using api = await startServer();
    await api.create(PODS, { ...running("p"), metadata: { name: "p", finalizers: ["example.com/hold"] } });
    await api.delete(`${PODS}/p`);
    await api.mergePatch(`${PODS}/p`, { metadata: { finalizers: null } });
    expect((await api.get(`${PODS}/p`)).status).toBe(200);
  });
});

describe("a deletion of a collection", () => {
  async function withThree(api: TestServer): Promise<void> {
    for (const [name, k] of [
      ["a", "x"],
      ["b", "y"],
      ["c", "x"],
    ] as const)
      await api.create(CONFIG_MAPS, configMap(name, { metadata: { labels: { k } } }));
  }

  test("deletes the selected objects and returns their list", async () => {
    await using api = await startServer();
    await withThree(api);
    const deleted = await api.delete(`${CONFIG_MAPS}?labelSelector=k%3Dx`);
    expect(deleted.status).toBe(200);
    expect(deleted.body.kind).toBe("ConfigMapList");
    expect(names(deleted)).toEqual(["a", "c"]);
    expect(names(await api.get(CONFIG_MAPS))).toEqual(["b"]);
    expect(names(await api.delete(`${CONFIG_MAPS}?fieldSelector=metadata.name%3Db`))).toEqual(["b"]);
    expect(names(await api.get(CONFIG_MAPS))).toEqual([]);
  });

  test("deletes only objects of the namespace in the path", async () => {
    await using api = await startServer();
    await withThree(api);
    await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("elsewhere"));
    await api.delete(CONFIG_MAPS);
    expect(names(await api.get("/api/v1/configmaps"))).toEqual(["elsewhere"]);
  });

  test("with an invalid selector deletes nothing", async () => {
    await using api = await startServer();
    await withThree(api);
    expect((await api.delete(`${CONFIG_MAPS}?labelSelector=(`)).status).toBe(400);
    expect(names(await api.get(CONFIG_MAPS))).toHaveLength(3);
  });

  test("applies its propagation policy to the deleted objects", async () => {
    await using api = await startServer();
    await withThree(api);
    await api.delete(`${CONFIG_MAPS}?labelSelector=k%3Dx`, { propagationPolicy: "Foreground" });
    expect((await api.get(`${CONFIG_MAPS}/a`)).body.metadata.finalizers).toEqual(["foregroundDeletion"]);
  });

  test("in all namespaces is not allowed", async () => {
    await using api = await startServer();
    expect((await api.delete("/api/v1/configmaps")).status).toBe(405);
  });

  test("of namespaces is not allowed", async () => {
    await using api = await startServer();
    expect((await api.delete("/api/v1/namespaces")).status).toBe(405);
  });
});

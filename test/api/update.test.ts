import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, deployment, PODS, pod, startServer, type Json } from "./start.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets";

function lease(name: string, metadata: Json = {}): Json {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, ...metadata },
    spec: { holderIdentity: "me" },
  };
}

describe("optimistic locking:", () => {
  test("an update with the current resource version succeeds and returns a new resource version", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, configMap("x"));
    const updated = await api.put(`${CONFIG_MAPS}/x`, { ...body, data: { a: "2" } });
    expect(updated.status).toBe(200);
    expect(updated.body.data).toEqual({ a: "2" });
    expect(Number(updated.body.metadata.resourceVersion)).toBeGreaterThan(Number(body.metadata.resourceVersion));
    expect(updated.body.metadata.uid).toBe(body.metadata.uid);
  });

  test("an update with an older resource version returns 409", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, configMap("x"));
    await api.put(`${CONFIG_MAPS}/x`, configMap("x", { data: { a: "2" } }));
    const stale = await api.put(`${CONFIG_MAPS}/x`, { ...body, data: { a: "3" } });
    expect(stale.status).toBe(409);
    expect(stale.body).toMatchObject({
      reason: "Conflict",
      message:
        'Operation cannot be fulfilled on configmaps "x": the object has been modified; please apply your changes to the latest version and try again',
      details: { name: "x", kind: "configmaps" },
    });
  });

  test("an update without a resource version succeeds, whatever the stored resource version is", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    expect((await api.put(`${CONFIG_MAPS}/x`, configMap("x", { data: { a: "2" } }))).status).toBe(200);
  });

  test("an update of a Lease needs a resource version", async () => {
    await using api = await startServer();
    await api.create(LEASES, lease("l"));
    const response = await api.put(`${LEASES}/l`, lease("l"));
    expect(response.status).toBe(422);
    expect(response.body.message).toBe(
      'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    );
  });

  test("a resource version that is not a number is rejected", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    const response = await api.put(`${CONFIG_MAPS}/x`, configMap("x", { metadata: { resourceVersion: "abc" } }));
    expect(response.status).toBe(500);
    expect(response.body.message).toBe('strconv.ParseUint: parsing "abc": invalid syntax');
  });

  test("an update with another uid returns 409", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    const uid = "11111111-2222-3333-4444-555555555555";
    const response = await api.put(`${CONFIG_MAPS}/x`, configMap("x", { metadata: { uid } }));
    expect(response.status).toBe(409);
    expect(response.body.reason).toBe("Conflict");
    expect(response.body.message).toContain(`Precondition failed: UID in precondition: ${uid}, UID in object meta: `);
  });

  test("exactly one of many updates with the same resource version succeeds", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, configMap("x"));
    const attempts = Array.from({ length: 10 }, (_, index) =>
      api.begin("PUT", `${CONFIG_MAPS}/x`, { ...body, data: { winner: String(index) } }),
    );
    const statuses = (await api.world.run(Promise.all(attempts))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(9);
  });

  test("patches without a resource version are retried after a conflict, so none is lost", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    const headers = { "content-type": "application/merge-patch+json" };
    const attempts = Array.from({ length: 20 }, (_, index) =>
      api.begin("PATCH", `${CONFIG_MAPS}/x`, JSON.stringify({ data: { [`k${index}`]: "1" } }), { headers }),
    );
    const responses = await api.world.run(Promise.all(attempts));
    expect(responses.every(({ status }) => status === 200)).toBe(true);
    expect(Object.keys((await api.get(`${CONFIG_MAPS}/x`)).body.data)).toHaveLength(21);
  });
});

describe("an update", () => {
  test("needs the same name in the object and in the path", async () => {
    await using api = await startServer();
    const response = await api.put(`${CONFIG_MAPS}/y`, configMap("x"));
    expect(response.status).toBe(400);
    expect(response.body.message).toBe("the name of the object (x) does not match the name on the URL (y)");
  });

  test("of an object without a name is rejected", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    const response = await api.put(`${CONFIG_MAPS}/x`, { kind: "ConfigMap", apiVersion: "v1", metadata: {} });
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(
      "the name of the object (x based on URL) was undeterminable: name must be provided",
    );
  });

  test("needs the same namespace in the object and in the path", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    expect((await api.put(`${CONFIG_MAPS}/x`, configMap("x", { metadata: { namespace: "other" } }))).status).toBe(400);
  });

  test("of a missing object returns 404", async () => {
    await using api = await startServer();
    expect((await api.put(`${CONFIG_MAPS}/nosuch`, configMap("nosuch"))).status).toBe(404);
  });

  test("of a missing Lease creates it with 201", async () => {
    await using api = await startServer();
    const response = await api.put(`${LEASES}/l`, lease("l"));
    expect(response.status).toBe(201);
    expect(response.body.metadata.uid).not.toBe("");
    expect((await api.get(`${LEASES}/l`)).status).toBe(200);
  });

  test("that would create an object in a missing namespace is rejected", async () => {
    await using api = await startServer();
    const response = await api.put("/apis/coordination.k8s.io/v1/namespaces/nowhere/leases/l", lease("l"));
    expect(response.status).toBe(404);
    expect(response.body.message).toBe('namespaces "nowhere" not found');
  });

  test("with a resource version does not create a missing object", async () => {
    await using api = await startServer();
    const response = await api.put(`${LEASES}/l`, lease("l", { resourceVersion: "3" }));
    expect([404, 409]).toContain(response.status);
    expect((await api.get(`${LEASES}/l`)).status).toBe(404);
  });

  test("without changes keeps the resource version and sends no watch event", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, configMap("x"));
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
    const same = await api.put(`${CONFIG_MAPS}/x`, body);
    expect(same.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
    expect(await watch.events()).toEqual([]);
  });

  test("cannot change the creationTimestamp", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, configMap("x"));
    await api.world.advance(10_000);
    const updated = await api.put(
      `${CONFIG_MAPS}/x`,
      configMap("x", { metadata: { creationTimestamp: "2001-01-01T00:00:00Z" } }),
    );
    expect(updated.body.metadata.creationTimestamp).toBe(body.metadata.creationTimestamp);
    expect(updated.body.metadata.uid).toBe(body.metadata.uid);
  });

  test("cannot set a deletionTimestamp", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    const metadata = { deletionTimestamp: "2001-01-01T00:00:00Z", deletionGracePeriodSeconds: 4 };
    const { body } = await api.put(`${CONFIG_MAPS}/x`, configMap("x", { metadata }));
    expect(body.message).toBe(
      'ConfigMap "x" is invalid: [metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable, metadata.deletionGracePeriodSeconds: Invalid value: 4: field is immutable]',
    );
  });
});

describe("the generation", () => {
  test("starts at 1 and is incremented only by changes of the spec", async () => {
    await using api = await startServer();
    const created = await api.create(DEPLOYMENTS, { ...deployment("web"), metadata: { name: "web", generation: 7 } });
    expect(created.body.metadata.generation).toBe(1);
    expect(
      (await api.mergePatch(`${DEPLOYMENTS}/web`, { metadata: { labels: { a: "b" } } })).body.metadata.generation,
    ).toBe(1);
    expect((await api.mergePatch(`${DEPLOYMENTS}/web`, { spec: { replicas: 3 } })).body.metadata.generation).toBe(2);
    expect(
      (await api.mergePatch(`${DEPLOYMENTS}/web/status`, { status: { replicas: 3 } })).body.metadata.generation,
    ).toBe(2);
    expect(
      (await api.mergePatch(`${DEPLOYMENTS}/web`, { metadata: { generation: 99 } })).body.metadata.generation,
    ).toBe(2);
  });

  test("is incremented by the first deletion if the object stays", async () => {
    await using api = await startServer();
    await api.create(DEPLOYMENTS, {
      ...deployment("web"),
      metadata: { name: "web", finalizers: ["example.com/hold"] },
    });
    expect((await api.delete(`${DEPLOYMENTS}/web`)).body.metadata.generation).toBe(2);
    expect((await api.delete(`${DEPLOYMENTS}/web`)).body.metadata.generation).toBe(2);
  });

  test("does not exist for kinds without a spec", async () => {
    await using api = await startServer();
    expect((await api.create(CONFIG_MAPS, configMap("x"))).body.metadata).not.toHaveProperty("generation");
    expect((await api.put(`${CONFIG_MAPS}/x`, configMap("x", { data: { a: "2" } }))).body.metadata).not.toHaveProperty(
      "generation",
    );
  });

  test("is not incremented by an ordinary update that contains a status", async () => {
    await using api = await startServer();
    const { body } = await api.create(PODS, pod("p"));
    const updated = await api.put(`${PODS}/p`, { ...body, status: { phase: "Failed" } });
    expect(updated.body.metadata.generation).toBe(1);
  });
});

describe("the status subresource", () => {
  test("is the only way to write the status", async () => {
    await using api = await startServer();
    await api.create(DEPLOYMENTS, deployment("web"));
    await api.mergePatch(`${DEPLOYMENTS}/web/status`, { status: { replicas: 1 } });
    const updated = await api.put(`${DEPLOYMENTS}/web`, { ...deployment("web", 2), status: { replicas: 9 } });
    expect(updated.body.spec.replicas).toBe(2);
    expect(updated.body.status).toEqual({ replicas: 1 });
  });

  test("keeps the spec and writes labels", async () => {
    await using api = await startServer();
    const { kind: _kind, ...replicated } = deployment("web");
    const { body } = await api.create(REPLICA_SETS, { ...replicated, kind: "ReplicaSet" });
    const updated = await api.put(`${REPLICA_SETS}/web/status`, {
      ...body,
      metadata: { ...body.metadata, labels: { seen: "yes" } },
      spec: { ...body.spec, replicas: 9 },
      status: { replicas: 1 },
    });
    expect(updated.status).toBe(200);
    expect(updated.body.spec.replicas).toBe(1);
    expect(updated.body.status.replicas).toBe(1);
    expect(updated.body.metadata.labels).toEqual({ seen: "yes" });
  });

  test("returns the whole object", async () => {
    await using api = await startServer();
    const { text } = await api.create(DEPLOYMENTS, deployment("web"));
    expect((await api.get(`${DEPLOYMENTS}/web/status`)).text).toBe(text);
  });

  test("does not exist for a kind without a status", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    expect((await api.get(`${CONFIG_MAPS}/x/status`)).status).toBe(404);
  });

  test("of a missing object returns 404, even if a PUT of the object could create it", async () => {
    await using api = await startServer();
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } };
    expect((await api.put("/api/v1/namespaces/default/services/s/status", service)).status).toBe(404);
  });
});

describe("immutable data:", () => {
  test("an immutable config map can neither change its data nor become mutable", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("im", { immutable: true }));
    const data = await api.put(`${CONFIG_MAPS}/im`, configMap("im", { immutable: true, data: { a: "9" } }));
    expect(data.status).toBe(422);
    expect(data.body.message).toBe(
      'ConfigMap "im" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    );
    const mutable = await api.put(`${CONFIG_MAPS}/im`, configMap("im", { immutable: false }));
    expect(mutable.status).toBe(422);
    expect(mutable.body.message).toBe(
      'ConfigMap "im" is invalid: immutable: Forbidden: field is immutable when `immutable` is set',
    );
  });

  test("an immutable config map can change its labels and be deleted", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("im", { immutable: true }));
    expect((await api.mergePatch(`${CONFIG_MAPS}/im`, { metadata: { labels: { l: "1" } } })).status).toBe(200);
    expect((await api.delete(`${CONFIG_MAPS}/im`)).status).toBe(200);
  });

  test("an immutable secret cannot change its data by stringData", async () => {
    await using api = await startServer();
    const secrets = "/api/v1/namespaces/default/secrets";
    await api.create(secrets, { metadata: { name: "s" }, immutable: true, data: { p: "aGVsbG8=" } });
    const response = await api.put(`${secrets}/s`, {
      metadata: { name: "s" },
      immutable: true,
      stringData: { p: "other" },
    });
    expect(response.status).toBe(422);
    expect(response.body.message).toContain("data: Forbidden: field is immutable when `immutable` is set");
  });

  test("the type of a secret is immutable", async () => {
    await using api = await startServer();
    const secrets = "/api/v1/namespaces/default/secrets";
    await api.create(secrets, { metadata: { name: "s" } });
    const response = await api.put(`${secrets}/s`, { metadata: { name: "s" }, type: "example.com/other" });
    expect(response.status).toBe(422);
    expect(response.body.message).toContain("field is immutable");
  });
});

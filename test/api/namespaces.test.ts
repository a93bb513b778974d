import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, startServer } from "./start.ts";

const NAMESPACES = "/api/v1/namespaces";
const namespace = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name },
  ...more,
});

describe("namespaces", () => {
  test("include the default namespaces once the server is ready", async () => {
    await using api = await startServer();
    const { body } = await api.get(NAMESPACES);
    expect(body.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual([
      "default",
      "kube-node-lease",
      "kube-public",
      "kube-system",
    ]);
  });

  test("start with phase Active, a label with their name, and the kubernetes finalizer", async () => {
    await using api = await startServer();
    const { body } = await api.create(NAMESPACES, namespace("team", { status: { phase: "Terminating" } }));
    expect(body).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "team" } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
  });

  test("keep their name label and spec finalizers in an ordinary update", async () => {
    await using api = await startServer();
    await api.create(NAMESPACES, namespace("team"));
    const { body } = await api.put(`${NAMESPACES}/team`, namespace("team", { spec: { finalizers: [] } }));
    expect(body.metadata.labels).toEqual({ "kubernetes.io/metadata.name": "team" });
    expect(body.spec.finalizers).toEqual(["kubernetes"]);
  });

  test("must have a DNS label as name", async () => {
    await using api = await startServer();
    expect((await api.create(NAMESPACES, namespace("not.a.label"))).status).toBe(422);
  });

  test("must exist before objects are created in them", async () => {
    await using api = await startServer();
    const response = await api.create(`${NAMESPACES}/nowhere/configmaps`, configMap("a"));
    expect(response.status).toBe(404);
    expect(response.body).toMatchObject({
      message: 'namespaces "nowhere" not found',
      details: { name: "nowhere", kind: "namespaces" },
    });
  });

  test("that do not exist have empty lists, and deleting an object in them returns 404 for the object", async () => {
    await using api = await startServer();
    expect((await api.get(`${NAMESPACES}/nowhere/configmaps`)).body.items).toEqual([]);
    expect((await api.delete(`${NAMESPACES}/nowhere/configmaps/a`)).body.message).toBe('configmaps "a" not found');
  });

  test("become Terminating when they are deleted, and the response of the deletion contains them", async () => {
    await using api = await startServer();
    await api.create(NAMESPACES, namespace("team"));
    const { status, body } = await api.delete(`${NAMESPACES}/team`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      kind: "Namespace",
      metadata: { deletionTimestamp: "2030-01-01T00:00:00Z" },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Terminating" },
    });
    expect((await api.get(`${NAMESPACES}/team`)).status).toBe(200);
  });

  test("reject new objects while they are terminating", async () => {
    await using api = await startServer();
    await api.create(NAMESPACES, namespace("team"));
    await api.delete(`${NAMESPACES}/team`);
    const response = await api.create(`${NAMESPACES}/team/configmaps`, configMap("late"));
    expect(response.status).toBe(403);
    expect(response.body).toMatchObject({
      message:
        'configmaps "late" is forbidden: unable to create new content in namespace team because it is being terminated',
      details: {
        name: "late",
        kind: "configmaps",
        causes: [
          {
            reason: "NamespaceTerminating",
            message: "namespace team is being terminated",
            field: "metadata.namespace",
          },
        ],
      },
    });
  });

  test("allow changes and deletions of their objects while they are terminating", async () => {
    await using api = await startServer();
    await api.create(NAMESPACES, namespace("team"));
    await api.create(`${NAMESPACES}/team/configmaps`, configMap("a"));
    await api.delete(`${NAMESPACES}/team`);
    expect((await api.mergePatch(`${NAMESPACES}/team/configmaps/a`, { data: { b: "2" } })).status).toBe(200);
    expect((await api.delete(`${NAMESPACES}/team/configmaps/a`)).status).toBe(200);
  });

  test("are removed by a finalization while they are terminating, and watches receive DELETED", async () => {
    await using api = await startServer();
    await api.create(NAMESPACES, namespace("team"));
    const { body } = await api.delete(`${NAMESPACES}/team`);
    const watch = await api.watch(`${NAMESPACES}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
    const finalized = await api.put(`${NAMESPACES}/team/finalize`, namespace("team", { spec: { finalizers: [] } }));
    expect(finalized.status).toBe(200);
    expect(finalized.body.spec).toEqual({});
    expect((await api.get(`${NAMESPACES}/team`)).status).toBe(404);
    expect(await watch.story()).toEqual(["DELETED team"]);
  });

  test("stay active after a finalization, which only clears their finalizers", async () => {
    await using api = await startServer();
    await api.create(NAMESPACES, namespace("team"));
    expect((await api.put(`${NAMESPACES}/team/finalize`, namespace("team", { spec: { finalizers: [] } }))).status).toBe(
      200,
    );
    expect((await api.get(`${NAMESPACES}/team`)).body.status.phase).toBe("Active");
    expect((await api.delete(`${NAMESPACES}/team`)).status).toBe(200);
    expect((await api.get(`${NAMESPACES}/team`)).status).toBe(404);
  });

  test("with finalizers in their metadata stay after the finalization until these finalizers are removed", async () => {
    await using api = await startServer();
    const metadata = { name: "team", finalizers: ["example.com/hold"] };
    await api.create(NAMESPACES, { ...namespace("team"), metadata });
    await api.delete(`${NAMESPACES}/team`);
    await api.put(`${NAMESPACES}/team/finalize`, { ...namespace("team"), metadata, spec: {} });
    expect((await api.get(`${NAMESPACES}/team`)).status).toBe(200);
    await api.mergePatch(`${NAMESPACES}/team`, { metadata: { finalizers: null } });
    expect((await api.get(`${NAMESPACES}/team`)).status).toBe(404);
  });

  test.each(["default", "kube-system", "kube-public"])("include %s, which cannot be deleted", async (name) => {
    await using api = await startServer();
    const response = await api.delete(`${NAMESPACES}/${name}`);
    expect(response.status).toBe(403);
    expect(response.body.message).toBe(`namespaces "${name}" is forbidden: this namespace may not be deleted`);
    expect((await api.create(CONFIG_MAPS, configMap("a"))).status).toBe(201);
  });

  test("are not changed by a second deletion", async () => {
    await using api = await startServer();
    await api.create(NAMESPACES, namespace("team"));
    const first = await api.delete(`${NAMESPACES}/team`);
    await api.world.advance(5_000);
    const second = await api.delete(`${NAMESPACES}/team?propagationPolicy=Orphan`);
    expect(second.status).toBe(200);
    expect(second.body).toEqual(first.body);
  });

  test("get the finalizer of the propagation policy with which they are deleted", async () => {
    await using api = await startServer();
    await api.create(NAMESPACES, namespace("team"));
    const { body } = await api.delete(`${NAMESPACES}/team?propagationPolicy=Foreground`);
    expect(body.metadata.finalizers).toEqual(["foregroundDeletion"]);
  });

  test("cannot be finalized through their status", async () => {
    await using api = await startServer();
    await api.create(NAMESPACES, namespace("team"));
    await api.delete(`${NAMESPACES}/team`);
    await api.mergePatch(`${NAMESPACES}/team/status`, { spec: { finalizers: [] } });
    expect((await api.get(`${NAMESPACES}/team`)).status).toBe(200);
  });
});

import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, names, startServer, type ApiTestResponse, type TestServer } from "./start.ts";

const PATCH = { headers: { "content-type": "application/merge-patch+json" } };

describe("dryRun=All", () => {
  const verbs: [string, (api: TestServer) => Promise<ApiTestResponse>][] = [
    ["a creation", (api) => api.create(`${CONFIG_MAPS}?dryRun=All`, configMap("new"))],
    [
      "a creation with a generated name",
      (api) => api.create(`${CONFIG_MAPS}?dryRun=All`, { metadata: { generateName: "gen-" } }),
    ],
    ["an update", (api) => api.put(`${CONFIG_MAPS}/x?dryRun=All`, configMap("x", { data: { a: "9" } }))],
    ["a patch", (api) => api.call("PATCH", `${CONFIG_MAPS}/x?dryRun=All`, '{"data":{"a":"9"}}', PATCH)],
    [
      "a creation by update",
      (api) =>
        api.put("/apis/coordination.k8s.io/v1/namespaces/default/leases/l?dryRun=All", {
          metadata: { name: "l" },
          spec: {},
        }),
    ],
    ["a deletion", (api) => api.delete(`${CONFIG_MAPS}/x?dryRun=All`)],
    ["a deletion with the option in its body", (api) => api.delete(`${CONFIG_MAPS}/x`, { dryRun: ["All"] })],
    [
      "a deletion that would keep the object",
      (api) => api.delete(`${CONFIG_MAPS}/x?dryRun=All&propagationPolicy=Foreground`),
    ],
    ["a deletion of a collection", (api) => api.delete(`${CONFIG_MAPS}?dryRun=All`)],
    ["a deletion of a namespace", (api) => api.delete("/api/v1/namespaces/kube-node-lease?dryRun=All")],
    [
      "a status update",
      (api) =>
        api.call("PATCH", "/api/v1/namespaces/default/status?dryRun=All", '{"metadata":{"labels":{"a":"b"}}}', PATCH),
    ],
  ];

  test.each(verbs)("on %s returns the same response as without a dry run and changes nothing", async (_verb, act) => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    const before = (await api.get("/api/v1/configmaps")).text;
    const revision = await api.kv.currentRevision();
    const response = await act(api);
    expect([200, 201]).toContain(response.status);
    expect(await api.kv.currentRevision()).toBe(revision);
    expect((await api.get("/api/v1/configmaps")).text).toBe(before);
  });

  test("returns a new object with a uid and a name but without a resource version", async () => {
    await using api = await startServer();
    const { body } = await api.create(`${CONFIG_MAPS}?dryRun=All`, { metadata: { generateName: "gen-" } });
    expect(body.metadata).toMatchObject({ name: expect.stringMatching(/^gen-/), uid: expect.any(String) });
    expect(body.metadata).not.toHaveProperty("resourceVersion");
  });

  test("returns an updated object with its current resource version", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, configMap("x"));
    const updated = await api.put(`${CONFIG_MAPS}/x?dryRun=All`, configMap("x", { data: { a: "9" } }));
    expect(updated.body.data).toEqual({ a: "9" });
    expect(updated.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
  });

  test("rejects invalid requests", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    expect((await api.create(`${CONFIG_MAPS}?dryRun=All`, configMap("x"))).status).toBe(409);
    expect((await api.create(`${CONFIG_MAPS}?dryRun=All`, configMap("Bad"))).status).toBe(422);
    expect((await api.delete(`${CONFIG_MAPS}/nosuch?dryRun=All`)).status).toBe(404);
    expect(
      (await api.put(`${CONFIG_MAPS}/x?dryRun=All`, configMap("x", { metadata: { resourceVersion: "1" } }))).status,
    ).toBe(409);
  });

  test("is the only valid value of dryRun, for every verb", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    const created = await api.create(`${CONFIG_MAPS}?dryRun=Some`, configMap("y"));
    expect(created.status).toBe(422);
    expect(created.body.message).toBe(
      'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
    );
    expect((await api.put(`${CONFIG_MAPS}/x?dryRun=Some`, configMap("x"))).status).toBe(422);
    expect((await api.call("PATCH", `${CONFIG_MAPS}/x?dryRun=Some`, "{}", PATCH)).status).toBe(422);
    expect((await api.delete(`${CONFIG_MAPS}/x?dryRun=Some`)).status).toBe(422);
    expect((await api.delete(`${CONFIG_MAPS}?dryRun=Some`)).status).toBe(422);
    expect(names(await api.get(CONFIG_MAPS))).toEqual(["x"]);
  });
});

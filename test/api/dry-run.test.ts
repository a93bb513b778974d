import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, names, startServer, type Answer, type TestServer } from "./start.ts";

const PATCH = { headers: { "content-type": "application/merge-patch+json" } };

describe("dryRun=All", () => {
  const verbs: [string, (api: TestServer) => Promise<Answer>][] = [
    ["create", (api) => api.create(`${CONFIG_MAPS}?dryRun=All`, configMap("new"))],
    ["generated creation", (api) => api.create(`${CONFIG_MAPS}?dryRun=All`, { metadata: { generateName: "gen-" } })],
    ["update", (api) => api.put(`${CONFIG_MAPS}/x?dryRun=All`, configMap("x", { data: { a: "9" } }))],
    ["patch", (api) => api.call("PATCH", `${CONFIG_MAPS}/x?dryRun=All`, '{"data":{"a":"9"}}', PATCH)],
    [
      "creation by update",
      (api) =>
        api.put("/apis/coordination.k8s.io/v1/namespaces/default/leases/l?dryRun=All", {
          metadata: { name: "l" },
          spec: {},
        }),
    ],
    ["deletion", (api) => api.delete(`${CONFIG_MAPS}/x?dryRun=All`)],
    ["deletion by body", (api) => api.delete(`${CONFIG_MAPS}/x`, { dryRun: ["All"] })],
    [
      "deletion that would leave the object",
      (api) => api.delete(`${CONFIG_MAPS}/x?dryRun=All&propagationPolicy=Foreground`),
    ],
    ["deletion of a collection", (api) => api.delete(`${CONFIG_MAPS}?dryRun=All`)],
    ["deletion of a namespace", (api) => api.delete("/api/v1/namespaces/kube-node-lease?dryRun=All")],
    [
      "status update",
      (api) =>
        api.call("PATCH", "/api/v1/namespaces/default/status?dryRun=All", '{"metadata":{"labels":{"a":"b"}}}', PATCH),
    ],
  ];

  test.each(verbs)("a %s answers as if it had happened and changes nothing", async (_verb, act) => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    const before = (await api.get("/api/v1/configmaps")).text;
    const revision = await api.kv.currentRevision();
    const answer = await act(api);
    expect([200, 201]).toContain(answer.status);
    expect(await api.kv.currentRevision()).toBe(revision);
    expect((await api.get("/api/v1/configmaps")).text).toBe(before);
  });

  test("a new object has a uid and a name but no resource version", async () => {
    await using api = await startServer();
    const { body } = await api.create(`${CONFIG_MAPS}?dryRun=All`, { metadata: { generateName: "gen-" } });
    expect(body.metadata).toMatchObject({ name: expect.stringMatching(/^gen-/), uid: expect.any(String) });
    expect(body.metadata).not.toHaveProperty("resourceVersion");
  });

  test("an updated object keeps its resource version", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, configMap("x"));
    const updated = await api.put(`${CONFIG_MAPS}/x?dryRun=All`, configMap("x", { data: { a: "9" } }));
    expect(updated.body.data).toEqual({ a: "9" });
    expect(updated.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
  });

  test("what would be refused is refused", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    expect((await api.create(`${CONFIG_MAPS}?dryRun=All`, configMap("x"))).status).toBe(409);
    expect((await api.create(`${CONFIG_MAPS}?dryRun=All`, configMap("Bad"))).status).toBe(422);
    expect((await api.delete(`${CONFIG_MAPS}/nosuch?dryRun=All`)).status).toBe(404);
    expect(
      (await api.put(`${CONFIG_MAPS}/x?dryRun=All`, configMap("x", { metadata: { resourceVersion: "1" } }))).status,
    ).toBe(409);
  });

  test("any other value is invalid on every verb", async () => {
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

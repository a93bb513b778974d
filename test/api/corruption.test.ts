import { describe, expect, test } from "vitest";
import { BAD, KEY, store, VALUES } from "./corrupt-values.ts";
import { CONFIG_MAPS, configMap, names, startServer } from "./start.ts";

describe("a stored value that cannot be read", () => {
  test.each(VALUES)(
    "(%s) is an error for a GET of the object and for lists that contain it, and for no other request",
    async (_what, value) => {
      await using api = await startServer();
      await api.create(CONFIG_MAPS, configMap("good"));
      await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("elsewhere"));
      await store(api, value);
      const read = await api.get(BAD);
      expect(read.status).toBe(500);
      expect(read.body).toMatchObject({ kind: "Status", reason: "InternalError" });
      expect(read.body.message).toContain(KEY);
      const list = await api.get(CONFIG_MAPS);
      expect(list.status).toBe(500);
      expect(list.body.message).toContain(KEY);
      expect((await api.get(`${CONFIG_MAPS}/good`)).status).toBe(200);
      expect(names(await api.get("/api/v1/namespaces/kube-system/configmaps"))).toEqual(["elsewhere"]);
      expect((await api.get("/api/v1/namespaces")).status).toBe(200);
      expect((await api.get("/livez")).status).toBe(200);
      expect((await api.get("/readyz")).status).toBe(200);
    },
  );

  test.each(VALUES)("(%s) cannot be overwritten or deleted by an ordinary request", async (_what, value) => {
    await using api = await startServer();
    await store(api, value);
    const revision = await api.kv.currentRevision();
    expect((await api.put(BAD, configMap("bad"))).status).toBe(500);
    expect((await api.mergePatch(BAD, { data: { a: "1" } })).status).toBe(500);
    expect((await api.delete(BAD)).status).toBe(500);
    expect((await api.delete(CONFIG_MAPS)).status).toBe(500);
    expect((await api.create(CONFIG_MAPS, configMap("bad"))).status).toBe(409);
    expect(await api.kv.currentRevision()).toBe(revision);
  });

  test.each(VALUES)("(%s) ends the watches that would have to send it, and no other watch", async (_what, value) => {
    await using api = await startServer();
    const concerned = await api.watch(`${CONFIG_MAPS}?watch=true`);
    const other = await api.watch("/api/v1/namespaces/kube-system/configmaps?watch=true");
    await store(api, value);
    const events = await concerned.events();
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ type: "ERROR", object: { kind: "Status", code: 500 } });
    expect(concerned.isEnded).toBe(true);
    await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("elsewhere"));
    expect(await other.story()).toEqual(["ADDED elsewhere"]);
  });

  test.each(VALUES)("(%s) does not prevent a server from starting", async (_what, value) => {
    await using first = await startServer();
    await store(first, value);
    await using second = await startServer({ world: first.world });
    expect((await second.get("/readyz")).status).toBe(200);
    expect((await second.get(BAD)).status).toBe(500);
  });

  test("because of its depth does not end the server process", async () => {
    await using api = await startServer();
    const depth = 200_000;
    await store(
      api,
      `{"kind":"ConfigMap","apiVersion":"v1","data":${"[".repeat(depth)}${"]".repeat(depth)},"metadata":{"name":"bad"}}`,
    );
    expect([200, 500]).toContain((await api.get(BAD)).status);
    await api.put(BAD, configMap("bad"));
    expect((await api.get("/livez")).status).toBe(200);
    expect((await api.create(CONFIG_MAPS, configMap("good"))).status).toBe(201);
  });

  test("because of a field of the wrong type does not break field selectors or watches", async () => {
    await using api = await startServer();
    const watch = await api.watch("/api/v1/pods?watch=true&fieldSelector=status.podIP%3D10.0.0.1");
    const other = await api.watch(`${CONFIG_MAPS}?watch=true`);
    const value =
      '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"odd"},"spec":7,"status":{"podIPs":7,"podIP":[]}}';
    await store(api, value, "/registry/pods/default/odd");
    expect((await api.get("/api/v1/pods?fieldSelector=status.podIP%3D10.0.0.1,spec.nodeName%3D")).status).toBe(200);
    await api.create(CONFIG_MAPS, configMap("after"));
    expect(await watch.events()).toEqual([]);
    expect(await other.story()).toEqual(["ADDED after"]);
  });

  test("because its conversion fails does not end watches of other resources", async () => {
    await using api = await startServer();
    const watch = await api.watch("/apis/autoscaling/v1/horizontalpodautoscalers?watch=true");
    const other = await api.watch(`${CONFIG_MAPS}?watch=true`);
    const value =
      '{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2","metadata":{"name":"h","namespace":"default"},"spec":{"metrics":[null,7,"x"],"behavior":5},"status":{"conditions":3,"currentMetrics":"x"}}';
    await store(api, value, "/registry/horizontalpodautoscalers/default/h");
    const path = "namespaces/default/horizontalpodautoscalers/h";
    expect((await api.get(`/apis/autoscaling/v2/${path}`)).status).toBe(200);
    expect([200, 500]).toContain((await api.get(`/apis/autoscaling/v1/${path}`)).status);
    expect((await watch.events()).map(({ type }) => type)).toHaveLength(1);
    await api.create(CONFIG_MAPS, configMap("after"));
    expect(await other.story()).toEqual(["ADDED after"]);
  });

  test("because of malformed labels does not break label selectors", async () => {
    await using api = await startServer();
    await store(
      api,
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"bad","namespace":"default","labels":["x"]}}',
    );
    expect((await api.get(`${CONFIG_MAPS}?labelSelector=a`)).status).toBe(200);
  });

  test("can be repaired in the store while the server runs", async () => {
    await using api = await startServer();
    await store(api, "junk");
    await store(
      api,
      JSON.stringify({ ...configMap("bad"), metadata: { name: "bad", namespace: "default", uid: "u" } }),
    );
    expect((await api.get(BAD)).status).toBe(200);
    expect(names(await api.get(CONFIG_MAPS))).toEqual(["bad"]);
  });

  test("that is a namespace makes a creation in that namespace return 500, not 404", async () => {
    await using api = await startServer();
    await store(api, "junk", "/registry/namespaces/broken");
    const response = await api.create("/api/v1/namespaces/broken/configmaps", configMap("a"));
    expect(response.status).toBe(500);
    expect(response.body.message).toContain("/registry/namespaces/broken");
  });

  test("is an error for a list at an exact earlier resourceVersion, even after it is repaired", async () => {
    await using api = await startServer();
    await store(api, "junk");
    const revision = await api.kv.currentRevision();
    await store(api, JSON.stringify({ ...configMap("bad"), metadata: { name: "bad", namespace: "default" } }));
    expect((await api.get(`${CONFIG_MAPS}?resourceVersion=${revision}&resourceVersionMatch=Exact`)).status).toBe(500);
    expect((await api.get(CONFIG_MAPS)).status).toBe(200);
  });

  test("is counted by resource as soon as it is stored, and until it is repaired or deleted", async () => {
    await using api = await startServer();
    const count = (resource: string): Promise<number> =>
      api.metric(`evenkeel_storage_corrupt_objects{resource="${resource}"}`);
    const widget = "/registry/example.com/widgets/default/a";
    await store(api, "junk");
    await store(api, "junk", `${KEY}-2`);
    await store(api, "junk", widget);
    await store(api, "junk", "/registry/evenkeel/private");
    expect([await count("configmaps"), await count("widgets.example.com")]).toEqual([2, 1]);
    expect((await api.get("/metrics")).text.match(/^evenkeel_storage_corrupt_objects\{/gm)).toHaveLength(2);
    const metadata = { name: "bad", namespace: "default", uid: "u" };
    await store(api, JSON.stringify({ ...configMap("bad"), metadata }));
    const [second] = (await api.kv.range({ start: `${KEY}-2` })).items;
    await api.kv.commit({ kind: "delete", key: `${KEY}-2`, expectedRevision: second?.modRevision ?? 0 });
    await api.world.advance(0);
    expect([await count("configmaps"), await count("widgets.example.com")]).toEqual([0, 1]);
    expect((await api.create(CONFIG_MAPS, configMap("good"))).status).toBe(201);
  });
});

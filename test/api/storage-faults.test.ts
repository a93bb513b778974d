import { describe, expect, test } from "vitest";
import { FaultyKv } from "./faulty-kv.ts";
import {
  CONFIG_MAPS,
  configMap,
  header,
  names,
  OPEN,
  startServer,
  type ApiTestResponse,
  type Json,
  type StartOptions,
  type TestServer,
} from "./start.ts";

const MERGE = { headers: { "content-type": "application/merge-patch+json" } };

async function startWithFaults(
  options: StartOptions = {},
): Promise<{ api: TestServer; store: FaultyKv } & AsyncDisposable> {
  let store: FaultyKv | undefined;
  const api = await startServer({ ...options, wrapKv: (kv) => (store = new FaultyKv(kv)) });
  return { api, store: store!, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
}

describe("while the store is unreachable,", () => {
  const verbs: [string, (api: TestServer) => Promise<ApiTestResponse>][] = [
    ["a read", (api) => api.get(`${CONFIG_MAPS}/x`)],
    ["a list", (api) => api.get(CONFIG_MAPS)],
    ["a watch without a version", (api) => api.get(`${CONFIG_MAPS}?watch=true`)],
    ["a creation", (api) => api.create(CONFIG_MAPS, configMap("y"))],
    [
      "a creation by update",
      (api) => api.put("/apis/coordination.k8s.io/v1/namespaces/default/leases/l", { metadata: { name: "l" } }),
    ],
    ["an update", (api) => api.put(`${CONFIG_MAPS}/x`, configMap("x", { data: { a: "2" } }))],
    ["a patch", (api) => api.call("PATCH", `${CONFIG_MAPS}/x`, '{"data":{"a":"2"}}', MERGE)],
    ["a dry run", (api) => api.delete(`${CONFIG_MAPS}/x?dryRun=All`)],
    ["a deletion", (api) => api.delete(`${CONFIG_MAPS}/x`)],
    ["a deletion of a collection", (api) => api.delete(CONFIG_MAPS)],
    [
      "a creation of an event, which needs a lease",
      (api) =>
        api.create("/api/v1/namespaces/default/events", {
          metadata: { name: "e" },
          involvedObject: { namespace: "default" },
        }),
    ],
  ];

  test.each(verbs)(
    "%s returns 503 with Retry-After, never 404, and succeeds when the store is back",
    async (_verb, act) => {
      await using world = await startWithFaults();
      const { api, store } = world;
      await api.create(CONFIG_MAPS, configMap("x"));
      store.setDown(true);
      const response = await act(api);
      expect(response.status).toBe(503);
      expect(response.body).toMatchObject({
        kind: "Status",
        reason: "ServiceUnavailable",
        details: { retryAfterSeconds: expect.any(Number) },
      });
      expect(Number(header(response, "retry-after"))).toBeGreaterThan(0);
      store.setDown(false);
      if (!_verb.includes("watch")) expect([200, 201]).toContain((await act(api)).status);
    },
  );

  test("reads that accept any resourceVersion are served", async () => {
    await using world = await startWithFaults();
    const { api, store } = world;
    await api.create(CONFIG_MAPS, configMap("x"));
    store.setDown(true);
    expect((await api.get(`${CONFIG_MAPS}/x?resourceVersion=0`)).status).toBe(200);
    expect(names(await api.get(`${CONFIG_MAPS}?resourceVersion=0`))).toEqual(["x"]);
  });

  test("discovery and version are served", async () => {
    await using world = await startWithFaults();
    world.store.setDown(true);
    for (const path of ["/api", "/apis", "/api/v1", "/version", "/metrics"])
      expect((await world.api.get(path)).status).toBe(200);
  });

  test("the server is not ready, but live", async () => {
    await using world = await startWithFaults();
    const { api, store } = world;
    store.setDown(true);
    const ready = await api.get("/readyz");
    expect(ready.status).toBe(500);
    expect(ready.text).toContain("[-]etcd failed: reason withheld");
    expect((await api.get("/livez")).status).toBe(200);
    store.setDown(false);
    expect((await api.get("/readyz")).status).toBe(200);
  });

  test("open watches stay open, and receive the missed events once when the store is back", async () => {
    await using world = await startWithFaults();
    const { api, store } = world;
    await using other = await startServer({ world: api.world });
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true`);
    store.setDown(true);
    await other.create(CONFIG_MAPS, configMap("meanwhile"));
    expect(await watch.events()).toEqual([]);
    store.setDown(false);
    expect(await watch.story()).toEqual(["ADDED meanwhile"]);
    expect(watch.isEnded).toBe(false);
  });

  test("a list of identity leases that fails counts as lease_list, a watch that has expired does not", async () => {
    await using scene = await startWithFaults();
    const { api, store } = scene;
    const failures = 'apiserver_peer_discovery_sync_errors_total{type="lease_list"}';
    store.loseHistory();
    await api.world.advance(10_000);
    expect(await api.metric(failures)).toBe(0);
    store.loseHistory();
    await api.world.advance(10);
    store.setDown(true);
    await api.world.advance(10_000);
    expect(await api.metric(failures)).toBeGreaterThan(0);
  });

  test("a starting server returns 503, and becomes ready when the store is back", async () => {
    let store: FaultyKv | undefined;
    const wrapKv: StartOptions["wrapKv"] = (kv) => {
      store = new FaultyKv(kv);
      store.setDown(true);
      return store;
    };
    await using api = await startServer({ wrapKv, skipReady: true });
    await api.world.advance(5_000);
    expect((await api.get(CONFIG_MAPS)).status).toBe(503);
    expect((await api.get(`${CONFIG_MAPS}?resourceVersion=0`)).status).toBe(503);
    expect((await api.get("/readyz")).status).toBe(500);
    store!.setDown(false);
    await api.world.run(api.server.ready);
    expect((await api.get("/readyz")).status).toBe(200);
    expect((await api.create(CONFIG_MAPS, configMap("x"))).status).toBe(201);
  });
});

describe("while the server's watch of the store lags,", () => {
  test("GET and LIST return every acknowledged write", async () => {
    await using world = await startWithFaults();
    const { api, store } = world;
    await api.create(CONFIG_MAPS, configMap("gone"));
    store.setLagging(true);
    const { text } = await api.create(CONFIG_MAPS, configMap("new"));
    await api.delete(`${CONFIG_MAPS}/gone`);
    expect((await api.get(`${CONFIG_MAPS}/new`)).text).toBe(text);
    expect((await api.get(`${CONFIG_MAPS}/gone`)).status).toBe(404);
    expect(names(await api.get(CONFIG_MAPS))).toEqual(["new"]);
    expect(names(await api.get(`${CONFIG_MAPS}?resourceVersion=0`))).toEqual(["gone"]);
  });

  test("writes are checked against the stored object, not the cached object", async () => {
    await using world = await startWithFaults();
    const { api, store } = world;
    const { body } = await api.create(CONFIG_MAPS, configMap("x"));
    store.setLagging(true);
    const updated = await api.put(`${CONFIG_MAPS}/x`, { ...body, data: { a: "2" } });
    expect(updated.status).toBe(200);
    expect((await api.put(`${CONFIG_MAPS}/x`, { ...body, data: { a: "3" } })).status).toBe(409);
    expect((await api.put(`${CONFIG_MAPS}/x`, { ...updated.body, data: { a: "3" } })).status).toBe(200);
    const patched = await api.mergePatch(`${CONFIG_MAPS}/x`, { data: { b: "1" } });
    expect(patched.body.data).toEqual({ a: "3", b: "1" });
    expect((await api.put(`${CONFIG_MAPS}/x`, body)).status).toBe(409);
    expect((await api.delete(`${CONFIG_MAPS}/x`)).status).toBe(200);
    expect((await api.mergePatch(`${CONFIG_MAPS}/x`, { data: { b: "1" } })).status).toBe(404);
    expect((await api.delete(`${CONFIG_MAPS}/x`)).status).toBe(404);
  });

  test("an update that restores the cached state counts as a change and is stored", async () => {
    await using world = await startWithFaults();
    const { api, store } = world;
    await api.create(CONFIG_MAPS, configMap("x"));
    store.setLagging(true);
    await api.put(`${CONFIG_MAPS}/x`, configMap("x", { data: { a: "2" } }));
    expect((await api.put(`${CONFIG_MAPS}/x`, configMap("x"))).body.data).toEqual({ a: "1" });
    expect((await api.get(`${CONFIG_MAPS}/x`)).body.data).toEqual({ a: "1" });
  });

  test("a new namespace is usable immediately", async () => {
    await using world = await startWithFaults();
    const { api, store } = world;
    store.setLagging(true);
    await api.create("/api/v1/namespaces", { metadata: { name: "team" } });
    expect((await api.create("/api/v1/namespaces/team/configmaps", configMap("x"))).status).toBe(201);
  });

  test("a new watch sends every object once", async () => {
    await using world = await startWithFaults();
    const { api, store } = world;
    await api.create(CONFIG_MAPS, configMap("a"));
    store.setLagging(true);
    const { body } = await api.create(CONFIG_MAPS, configMap("b"));
    const fromNow = await api.watch(`${CONFIG_MAPS}?watch=true`);
    const afterWrite = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
    await api.create(CONFIG_MAPS, configMap("c"));
    store.setLagging(false);
    expect(await fromNow.story()).toEqual(["ADDED a", "ADDED b", "ADDED c"]);
    expect(await afterWrite.story()).toEqual(["ADDED c"]);
  });
});

describe("after the store has compacted events that the server had not received,", () => {
  test("open watches get 410, and later reads return all objects", async () => {
    await using world = await startWithFaults();
    const { api, store } = world;
    await using other = await startServer({ world: api.world });
    await api.create(CONFIG_MAPS, configMap("before"));
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true`);
    expect(await watch.story()).toEqual(["ADDED before"]);
    store.setDown(true);
    await other.create(CONFIG_MAPS, configMap("meanwhile"));
    await other.delete(`${CONFIG_MAPS}/before`);
    store.loseHistory();
    store.setDown(false);
    await api.world.advance(1_000);
    const events = await watch.events();
    expect(events).toMatchObject([{ type: "ERROR", object: { code: 410, reason: "Expired" } }]);
    expect(watch.isEnded).toBe(true);
    expect(names(await api.get(CONFIG_MAPS))).toEqual(["meanwhile"]);
    expect((await api.get("/readyz")).status).toBe(200);
    const again = await api.watch(`${CONFIG_MAPS}?watch=true`);
    await api.create(CONFIG_MAPS, configMap("after"));
    expect(await again.story()).toEqual(["ADDED meanwhile", "ADDED after"]);
  });

  test("a watch from an earlier resourceVersion gets 410", async () => {
    await using world = await startWithFaults();
    const { api, store } = world;
    const { body } = await api.create(CONFIG_MAPS, configMap("before"));
    await api.create(CONFIG_MAPS, configMap("more"));
    store.loseHistory();
    await api.world.advance(1_000);
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
    expect(await watch.events()).toMatchObject([{ type: "ERROR", object: { code: 410 } }]);
  });
});

describe("with limits on requests,", () => {
  test("a request that takes longer than 60 seconds returns 504", async () => {
    await using world = await startWithFaults();
    const { api, store } = world;
    store.stall();
    const started = api.world.clock.monotonic();
    const response = await api.get(CONFIG_MAPS);
    expect(api.world.clock.monotonic() - started).toBe(60_000);
    expect(response.status).toBe(504);
    expect(response.body.reason).toBe("Timeout");
    store.resume();
    expect((await api.get(CONFIG_MAPS)).status).toBe(200);
  });

  test("a client can shorten the timeout of its request, but not extend it", async () => {
    await using world = await startWithFaults({ requestTimeoutMs: 5_000 });
    const { api, store } = world;
    store.stall();
    const timed = async (timeout: string): Promise<number> => {
      const started = api.world.clock.monotonic();
      expect((await api.get(`${CONFIG_MAPS}?timeout=${timeout}`)).status).toBe(504);
      return api.world.clock.monotonic() - started;
    };
    expect(await timed("1500ms")).toBe(1_500);
    expect(await timed("1m30s")).toBe(5_000);
    store.resume();
  });

  test("a malformed timeout returns 400", async () => {
    await using api = await startServer();
    expect((await api.get(`${CONFIG_MAPS}?timeout=soon`)).status).toBe(400);
  });

  test("without priority and fairness, reads beyond the limit return 429 with Retry-After, and writes have their own limit", async () => {
    const access = { ...OPEN, priorityAndFairness: false };
    await using world = await startWithFaults({ maxRequestsInflight: 2, maxMutatingRequestsInflight: 1, access });
    const { api, store } = world;
    // This client has its own identity, because the server never rejects requests of its loopback client.
    const asked = (method: string, body?: Json): Promise<ApiTestResponse> =>
      api.begin(method, CONFIG_MAPS, body, { asClient: true });
    store.stall();
    const held = [asked("GET"), asked("GET"), asked("POST", configMap("x"))];
    await api.world.advance(0);
    const rejected = await asked("GET");
    expect([rejected.status, rejected.text]).toEqual([429, "Too many requests, please try again later.\n"]);
    expect(header(rejected, "retry-after")).toBe("1");
    expect((await asked("POST", configMap("y"))).status).toBe(429);
    store.resume();
    expect((await api.world.run(Promise.all(held))).map(({ status }) => status)).toEqual([200, 200, 201]);
    expect((await api.world.run(asked("GET"))).status).toBe(200);
  });

  test("without priority and fairness, watches are not limited", async () => {
    await using api = await startServer({ maxRequestsInflight: 1, access: { ...OPEN, priorityAndFairness: false } });
    const asked = async (target: string): Promise<number> =>
      (await api.world.run(api.send({ method: "GET", target }, true))).status;
    for (let index = 0; index < 5; index++) expect(await asked(`${CONFIG_MAPS}?watch=true`)).toBe(200);
    expect(await asked(CONFIG_MAPS)).toBe(200);
  });
});

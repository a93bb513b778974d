/** Tests of Evenkeel's API client and informer against a server in the same process. */
import { describe, expect, test } from "vitest";
import { createClient, type Client } from "../../src/client/client.ts";
import { createInProcessTransport } from "../../src/client/in-process.ts";
import { recorder } from "../testing/client/running-informer.ts";
import { FlakyTransport } from "../testing/client/flaky-transport.ts";
import type { Informer, InformerSettings } from "../../src/client/informer.ts";
import type { KubernetesObject } from "../../src/client/objects.ts";
import { openWatches } from "./own-records.ts";
import { configMap, CONFIG_MAPS as PATH, OPEN, startServer, type StartOptions, type TestServer } from "./start.ts";

const CONFIG_MAPS = { group: "", version: "v1", resource: "configmaps", namespaced: true } as const;

interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

function named(name: string, data: Record<string, string> = { a: "1" }): ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data };
}

const key = (name: string): { namespace: string; name: string } => ({ namespace: "default", name });

function clientOf(api: TestServer): Client {
  const { world, server } = api;
  return createClient({
    transport: server.transport,
    clock: world.clock,
    random: world.randomFor("client"),
    userAgent: "tests",
  });
}

describe("the client", () => {
  test("creates, reads, replaces, patches and deletes an object", async () => {
    await using api = await startServer();
    const configMaps = clientOf(api).resource<ConfigMap>(CONFIG_MAPS);
    const created = await api.world.run(configMaps.create(named("x")));
    expect(created.metadata).toMatchObject({ name: "x", namespace: "default", uid: expect.any(String) });
    expect(await api.world.run(configMaps.get(key("x")))).toEqual(created);
    const replaced = await api.world.run(configMaps.replace({ ...created, data: { a: "2" } }));
    expect(replaced.data).toEqual({ a: "2" });
    await expect(api.world.run(configMaps.replace(created))).rejects.toMatchObject({ reason: "Conflict" });
    const merged = await api.world.run(configMaps.patch(key("x"), { type: "merge", body: { data: { b: "3" } } }));
    expect(merged.data).toEqual({ a: "2", b: "3" });
    const patch = { type: "json", body: [{ op: "remove", path: "/data/a" }] } as const;
    expect((await api.world.run(configMaps.patch(key("x"), patch))).data).toEqual({ b: "3" });
    const wrong = { preconditions: { uid: "another" } };
    await expect(api.world.run(configMaps.delete(key("x"), wrong))).rejects.toMatchObject({ reason: "Conflict" });
    await api.world.run(configMaps.delete(key("x")));
    await expect(api.world.run(configMaps.get(key("x")))).rejects.toMatchObject({
      reason: "NotFound",
      details: { name: "x", kind: "configmaps" },
    });
  });

  test("changes nothing in a dry run", async () => {
    await using api = await startServer();
    const configMaps = clientOf(api).resource<ConfigMap>(CONFIG_MAPS);
    await api.world.run(configMaps.create(named("x"), { dryRun: "All" }));
    expect((await api.world.run(configMaps.list({ namespace: "default" }))).items).toEqual([]);
  });

  test("lists a collection in pages, lists it with selectors, and deletes it", async () => {
    await using api = await startServer();
    const configMaps = clientOf(api).resource<ConfigMap>(CONFIG_MAPS);
    for (let index = 0; index < 7; index++)
      await api.create(PATH, configMap(`c${index}`, { metadata: { labels: { odd: String(index % 2 === 1) } } }));
    const pages: number[] = [];
    const read = async (): Promise<void> => {
      for await (const page of configMaps.pages({ namespace: "default", limit: 3 })) pages.push(page.items.length);
    };
    await api.world.run(read());
    expect(pages).toEqual([3, 3, 1]);
    const odd = await api.world.run(configMaps.listAll({ namespace: "default", labelSelector: "odd=true", limit: 2 }));
    expect(odd.items.map(({ metadata }) => metadata?.name)).toEqual(["c1", "c3", "c5"]);
    expect(odd.items[0]).toEqual(await api.world.run(configMaps.get(key("c1"))));
    await api.world.run(configMaps.deleteCollection({ namespace: "default", labelSelector: "odd=true" }));
    expect((await api.world.run(configMaps.list({ namespace: "default" }))).items).toHaveLength(4);
  });

  test("retries requests that an overloaded server rejects until they succeed", async () => {
    const access = { ...OPEN, priorityAndFairness: false };
    await using api = await startServer({ maxMutatingRequestsInflight: 1, access });
    // This client has its own identity, because the server never rejects requests of its loopback client.
    const transport = new FlakyTransport(createInProcessTransport(api.server.handle));
    const client = createClient({ transport, clock: api.world.clock, random: api.world.randomFor("client") });
    const configMaps = client.resource<ConfigMap>(CONFIG_MAPS);
    await api.world.run(Promise.all(Array.from({ length: 5 }, (_, index) => configMaps.create(named(`c${index}`)))));
    expect(transport.requests.length).toBeGreaterThan(5);
    expect((await api.world.run(configMaps.list({ namespace: "default" }))).items).toHaveLength(5);
  });

  test("closes a canceled watch on the server", async () => {
    await using api = await startServer();
    const configMaps = clientOf(api).resource<ConfigMap>(CONFIG_MAPS);
    const open = (): Promise<number> => openWatches(api);
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async (): Promise<void> => {
      for await (const event of configMaps.watch({ namespace: "default", signal: stop.signal }))
        seen.push(`${event.type} ${event.object.metadata?.name}`);
    })();
    watching.catch(() => {});
    await api.world.advance(0);
    await api.create(PATH, configMap("x"));
    expect(await open()).toBe(1);
    stop.abort();
    await expect(watching).rejects.toMatchObject({ failure: "aborted" });
    expect(seen).toEqual(["ADDED x"]);
    expect(await open()).toBe(0);
  });
});

class Following {
  readonly api: TestServer;
  readonly transport: FlakyTransport;
  readonly informer: Informer<ConfigMap>;
  readonly reported: string[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(api: TestServer, settings: InformerSettings<ConfigMap> = {}) {
    this.api = api;
    this.transport = new FlakyTransport(api.server.transport);
    const { clock } = api.world;
    const client = createClient({ transport: this.transport, clock, random: api.world.randomFor("informer") });
    this.informer = client.informer<ConfigMap>(CONFIG_MAPS, { namespace: "default", ...settings });
    this.informer.addHandler(recorder(this.reported));
    this.#running = this.informer.run(this.#stop.signal);
  }

  /** The notifications since the last call, for example "add a" and "delete b", without resource versions. */
  async news(afterMs = 0): Promise<string[]> {
    await this.api.world.advance(afterMs);
    return this.reported.splice(0).map((line) => line.replace(/@\d+(→\d+)?/, ""));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.api.world.run(this.#running);
  }
}

describe("an informer", () => {
  test("lists and watches with a single streaming-list request", async () => {
    await using api = await startServer();
    await api.create(PATH, configMap("a"));
    await using following = new Following(api);
    expect(await following.news()).toEqual(["add a (initial)"]);
    await api.create(PATH, configMap("b"));
    await api.mergePatch(`${PATH}/a`, { data: { a: "2" } });
    await api.delete(`${PATH}/b`);
    await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("elsewhere"));
    expect(await following.news()).toEqual(["add b", "update a", "delete b"]);
    expect(following.transport.requests).toHaveLength(1);
  });

  test("resumes from its last bookmark after the server has ended its watches", async () => {
    await using api = await startServer();
    await using following = new Following(api);
    await following.news();
    const elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    const version = async (): Promise<number> => Number((await api.get(elsewhere)).body.metadata.resourceVersion);
    for (let index = 0; index < 3; index++) await api.create(elsewhere, configMap(`e${index}`));
    const written = await version();
    await following.news(61_000);
    const ended = await version();
    api.server.endWatches();
    await following.news(2_000);
    await api.create(PATH, configMap("later"));
    expect(await following.news()).toEqual(["add later"]);
    expect(following.transport.requests).toHaveLength(2);
    // No object of the informer has a resource version in this range, so the version must come from a bookmark.
    const resumed = Number(/[?&]resourceVersion=(\d+)/.exec(following.transport.requests[1]!)?.[1]);
    expect(resumed).toBeGreaterThanOrEqual(written);
    expect(resumed).toBeLessThanOrEqual(ended);
  });

  test("continues after every timeout of its watches", async () => {
    await using api = await startServer();
    await using following = new Following(api);
    await following.news(3 * 3_600_000);
    await api.create(PATH, configMap("late"));
    expect(await following.news()).toEqual(["add late"]);
  });

  test("lists again if the history of the server does not reach back to the informer's last resource version", async () => {
    await using api = await startServer();
    await api.create(PATH, configMap("stays"));
    await api.create(PATH, configMap("goes"));
    await using following = new Following(api);
    await following.news();
    following.transport.server = undefined;
    following.transport.cut();
    await api.delete(`${PATH}/goes`);
    await api.mergePatch(`${PATH}/stays`, { data: { a: "2" } });
    for (let index = 0; index < 101; index++) await api.mergePatch(`${PATH}/stays`, { data: { a: `x${index}` } });
    await api.world.advance(20 * 60_000);
    await api.create(PATH, configMap("new"));
    following.transport.server = api.server.transport;
    expect(await following.news(120_000)).toEqual(["delete goes (unknown)", "add new", "update stays"]);
    const resumed = following.transport.requests.findLastIndex((line) => !line.includes("sendInitialEvents"));
    expect(following.transport.requests[resumed]).toContain("resourceVersion=");
    expect(following.transport.requests[resumed + 1]).toContain("sendInitialEvents=true");
    expect(following.transport.requests[resumed + 1]).not.toContain("resourceVersion=");
  });

  test("continues after the server has restarted", async () => {
    const api = await startServer();
    await api.create(PATH, configMap("a"));
    await using following = new Following(api);
    await following.news();
    following.transport.server = undefined;
    await api[Symbol.asyncDispose]();
    await following.news(10_000);
    await using next = await startServer({ world: api.world });
    await next.create(PATH, configMap("b"));
    following.transport.server = next.server.transport;
    expect(await following.news(60_000)).toEqual(["add b"]);
  });

  test.each([
    ["a server without streaming lists", { release: "1.28" }],
    ["a server that is overloaded", { maxRequestsInflight: 1 }],
  ] satisfies [string, StartOptions][])("lists and watches on %s", async (_what, options) => {
    await using api = await startServer(options);
    await api.create(PATH, configMap("a"));
    await using following = new Following(api);
    expect(await following.news(5_000)).toEqual(["add a (initial)"]);
    await api.delete(`${PATH}/a`);
    expect(await following.news()).toEqual(["delete a"]);
  });

  test("with a label selector reports an object as added or deleted when its labels start or stop matching", async () => {
    await using api = await startServer();
    await api.create(PATH, configMap("a", { metadata: { labels: { on: "yes" } } }));
    await api.create(PATH, configMap("b"));
    await using following = new Following(api, { labelSelector: "on=yes" });
    expect(await following.news()).toEqual(["add a (initial)"]);
    await api.mergePatch(`${PATH}/b`, { metadata: { labels: { on: "yes" } } });
    await api.mergePatch(`${PATH}/a`, { metadata: { labels: { on: null } } });
    expect(await following.news()).toEqual(["add b", "delete a"]);
  });
});

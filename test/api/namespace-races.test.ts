/**
 * Tests of creations that race with the deletion of their namespace, with two servers of which one has an outdated
 * watch cache.
 */
import { describe, expect, test } from "vitest";
import { sleep } from "../../src/base/clock.ts";
import { randomInteger, type Random } from "../../src/base/random.ts";
import { World } from "../../src/tools/simulator/world.ts";
import type { Change, Kv } from "../../src/storage/kv.ts";
import { FaultyKv } from "./faulty-kv.ts";
import { configMap, startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";

const NAMESPACES = "/api/v1/namespaces";
const TEAM = `${NAMESPACES}/team`;
const TEAM_KEY = "/registry/namespaces/team";
const NAMESPACE: Json = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } };
const FINALIZED: Json = { ...NAMESPACE, spec: { finalizers: [] } };

function isInTeam(key: string): boolean {
  return key !== TEAM_KEY && key.split("/").includes("team");
}

async function keysInTeam(kv: Kv): Promise<string[]> {
  const { items } = await kv.range({ start: "/registry/", end: "/registry0" });
  return items.map(({ key }) => key).filter(isInTeam);
}

interface Pair extends AsyncDisposable {
  readonly api: TestServer;
  readonly other: TestServer;
  /** The store as `api` sees it. */
  readonly store: FaultyKv;
}

/** Starts two servers of one cluster, without controllers, and creates a namespace that both have seen. */
async function startPair(): Promise<Pair> {
  const world = new World({ seed: 1 });
  let store!: FaultyKv;
  const api = await startServer({ world, wrapKv: (kv) => (store = new FaultyKv(kv)) });
  const other = await startServer({ world });
  await other.create(NAMESPACES, NAMESPACE);
  await world.advance(0);
  const dispose = async (): Promise<void> => {
    await other[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
  };
  return { api, other, store, [Symbol.asyncDispose]: dispose };
}

describe("a server that has not seen the latest change of a namespace yet", () => {
  test("creates nothing in a deleted namespace", async () => {
    await using pair = await startPair();
    const { api, other, store } = pair;
    store.setLagging(true);
    await other.delete(TEAM);
    await other.put(`${TEAM}/finalize`, FINALIZED);
    for (const query of ["?dryRun=All", ""]) {
      const response = await api.create(`${TEAM}/configmaps${query}`, configMap("x"));
      expect(response.status).toBe(404);
      expect(response.body.message).toBe('namespaces "team" not found');
    }
    expect(await keysInTeam(api.kv)).toEqual([]);
  });

  test("creates nothing by an update in a deleted namespace", async () => {
    await using pair = await startPair();
    const { api, other, store } = pair;
    const LEASES = "/apis/coordination.k8s.io/v1/namespaces/team/leases";
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "x" } };
    expect((await api.put(`${LEASES}/x`, lease)).status).toBe(201);
    await api.delete(`${LEASES}/x`);
    store.setLagging(true);
    await other.delete(TEAM);
    expect((await api.put(`${LEASES}/x`, lease)).status).toBe(403);
    await other.put(`${TEAM}/finalize`, FINALIZED);
    expect((await api.put(`${LEASES}/x`, lease)).status).toBe(404);
    expect(await keysInTeam(api.kv)).toEqual([]);
  });

  test("creates nothing in a terminating namespace, also with a generated name", async () => {
    await using pair = await startPair();
    const { api, other, store } = pair;
    store.setLagging(true);
    await other.delete(TEAM);
    for (const metadata of [{ name: "x" }, { name: undefined, generateName: "x-" }]) {
      const response = await api.create(`${TEAM}/configmaps`, configMap("x", { metadata }));
      expect(response.status).toBe(403);
      expect(response.body.details.causes).toMatchObject([{ reason: "NamespaceTerminating" }]);
    }
    expect(await keysInTeam(api.kv)).toEqual([]);
  });

  test("releases the addresses and ports of a rejected Service", async () => {
    await using pair = await startPair();
    const { api, other, store } = pair;
    const claims = async (): Promise<number> =>
      (await api.kv.range({ start: "/registry/ranges/", end: "/registry/ranges0", countOnly: true })).count;
    const ranges = await claims();
    store.setLagging(true);
    await other.delete(TEAM);
    const spec = { type: "NodePort", ports: [{ port: 80 }] };
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "x" }, spec };
    expect((await api.create(`${TEAM}/services`, service)).status).toBe(403);
    expect(await claims()).toBe(ranges);
  });

  test.each(["its labels have changed", "it was deleted and created again"])(
    "creates objects in a namespace although %s",
    async (change) => {
      await using pair = await startPair();
      const { api, other, store } = pair;
      store.setLagging(true);
      if (change === "its labels have changed") await other.mergePatch(TEAM, { metadata: { labels: { a: "1" } } });
      else {
        await other.delete(TEAM);
        await other.put(`${TEAM}/finalize`, FINALIZED);
        await other.create(NAMESPACES, NAMESPACE);
      }
      expect((await api.create(`${TEAM}/configmaps`, configMap("x"))).status).toBe(201);
      expect((await api.create(`${TEAM}/configmaps`, configMap("x"))).status).toBe(409);
      expect(await keysInTeam(api.kv)).toEqual(["/registry/configmaps/team/x"]);
    },
  );

  test("returns 503 for a creation if the namespace changes before every commit", async () => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    let changes = 0;
    const touch = async (): Promise<void> => {
      const [namespace] = (await kv.range({ start: TEAM_KEY })).items;
      await kv.commit({
        kind: "put",
        key: TEAM_KEY,
        value: namespace!.value,
        expectedRevision: namespace!.modRevision,
      });
      changes++;
    };
    await using api = await startServer({ world, wrapKv: (inner) => committing(inner, () => touch()) });
    await api.create(NAMESPACES, NAMESPACE);
    const response = await api.create(`${TEAM}/configmaps`, configMap("x"));
    expect(response.status).toBe(503);
    expect(changes).toBeLessThan(100);
    expect(await keysInTeam(api.kv)).toEqual([]);
  });
});

/** Returns a store that calls `before` ahead of each commit of an object in the namespace. */
function committing(kv: Kv, before: (change: Change) => Promise<void>): Kv {
  return overlaidKv(kv, {
    async commit(change) {
      if (isInTeam(change.key)) await before(change);
      return kv.commit(change);
    },
  });
}

describe("a namespace without finalizers", () => {
  /**
   * Starts two servers and creates such a namespace. `before` sets a function that is called ahead of each commit of
   * the namespace.
   */
  async function startDeleting(): Promise<{
    api: TestServer;
    other: TestServer;
    before: (commit: (change: Change) => Promise<void>) => void;
  }> {
    const world = new World({ seed: 1 });
    let hook: (change: Change) => Promise<void> = () => Promise.resolve();
    const api = await startServer({
      world,
      wrapKv: (kv) =>
        overlaidKv(kv, {
          async commit(change) {
            if (change.key === TEAM_KEY) await hook(change);
            return kv.commit(change);
          },
        }),
    });
    const other = await startServer({ world });
    await api.create(NAMESPACES, NAMESPACE);
    await api.put(`${TEAM}/finalize`, FINALIZED);
    await world.advance(0);
    return { api, other, before: (commit) => void (hook = commit) };
  }

  test("becomes Terminating and is then removed by the same request", async () => {
    const { api, other, before } = await startDeleting();
    const commits: string[] = [];
    before(async ({ kind }) => void commits.push(kind));
    const { resourceVersion, uid } = (await api.get(TEAM)).body.metadata;
    const watch = await other.watch(`${NAMESPACES}?watch=true&resourceVersion=${resourceVersion}`);
    const response = await api.delete(TEAM, { preconditions: { resourceVersion, uid } });
    expect(response).toMatchObject({ status: 200, body: { status: { phase: "Terminating" } } });
    expect(commits).toEqual(["put", "delete"]);
    expect(await watch.story()).toEqual(["MODIFIED team", "DELETED team"]);
    await other[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
  });

  test("is not removed if an object is created in it during its deletion", async () => {
    const { api, other, before } = await startDeleting();
    let at = 0;
    const statuses: number[] = [];
    before(async () => {
      statuses.push((await other.begin("POST", `${TEAM}/configmaps`, configMap(`c-${at++}`))).status);
    });
    const rejected = await api.delete(TEAM);
    // The first object is created before the namespace is Terminating. The server that deletes the namespace finds this
    // object, so it does not try the second commit, which would remove the namespace.
    expect(statuses).toEqual([201]);
    expect(rejected.status).toBe(409);
    expect(rejected.body.message).toContain("still holds 1 object: 1 configmaps");
    await api.delete(`${TEAM}/configmaps/c-0`);
    expect((await api.delete(TEAM)).status).toBe(200);
    expect(statuses).toEqual([201, 403]);
    expect(await keysInTeam(api.kv)).toEqual([]);
    await other[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
  });
});

describe("with concurrent requests to two servers,", () => {
  /** A store whose calls are slow and whose watches sometimes lag, between `start` and `stop`. */
  class SlowStore {
    readonly kv: Kv;
    readonly #faulty: FaultyKv;
    readonly #world: World;
    readonly #random: Random;
    #isSlow = false;

    constructor(world: World, random: Random, inner: Kv) {
      this.#world = world;
      this.#random = random;
      const faulty = new FaultyKv(inner);
      this.#faulty = faulty;
      this.kv = overlaidKv(faulty, {
        range: async (request) => {
          await this.#pause(2);
          return faulty.range(request);
        },
        commit: async (change) => {
          await this.#pause(20);
          const result = await faulty.commit(change);
          await this.#pause(20);
          return result;
        },
      });
    }

    async start(): Promise<void> {
      this.#isSlow = true;
      while (this.#isSlow) {
        await this.#pause(400);
        this.#faulty.setLagging(this.#isSlow && this.#random.float() < 0.6);
      }
    }

    stop(): void {
      this.#isSlow = false;
      this.#faulty.setLagging(false);
    }

    async #pause(ms: number): Promise<void> {
      if (this.#isSlow) await sleep(this.#world.clock, randomInteger(this.#random, ms));
    }
  }

  /** Watches the store and records every revision at which an object exists without its namespace. */
  async function follow(world: World): Promise<{ readonly kv: Kv; readonly problems: string[]; removals: number }> {
    const kv = world.openKv();
    const story = { kv, problems: [] as string[], removals: 0 };
    const inside = new Set<string>();
    let isThere = false;
    const take = (event: { kind: string; key: string; modRevision: number }): void => {
      if (event.key === TEAM_KEY) isThere = event.kind === "put";
      else if (!isInTeam(event.key)) return;
      else if (event.kind === "put") inside.add(event.key);
      else inside.delete(event.key);
      if (event.key === TEAM_KEY && !isThere) story.removals++;
      if (!isThere && inside.size > 0)
        story.problems.push(`at ${event.modRevision}: ${[...inside].join(", ")} without its namespace`);
    };
    kv.watch(
      { prefix: "/registry/", fromRevision: await kv.currentRevision() },
      { events: (batch) => batch.forEach(take), progress: () => {}, interrupted: () => {}, closed: () => {} },
    );
    return story;
  }

  function ask(api: TestServer, random: Random, at: number): Promise<ApiTestResponse> {
    const kinds = [
      "create",
      "create",
      "create",
      "create",
      "generate",
      "label",
      "delete",
      "finalize",
      "finalize",
      "again",
      "again",
      "empty",
      "empty",
    ];
    switch (kinds[randomInteger(random, kinds.length)]) {
      case "create":
        return api.begin("POST", `${TEAM}/configmaps`, configMap(`c-${at % 3}`));
      case "generate":
        return api.begin("POST", `${TEAM}/configmaps`, configMap("", { metadata: { generateName: "g-" } }));
      case "label":
        return api.begin("PATCH", TEAM, JSON.stringify({ metadata: { labels: { at: String(at) } } }), {
          headers: { "content-type": "application/merge-patch+json" },
        });
      case "delete":
        return api.begin("DELETE", TEAM);
      case "finalize":
        return api.begin("PUT", `${TEAM}/finalize`, FINALIZED);
      case "again":
        return api.begin("POST", NAMESPACES, NAMESPACE);
      default:
        return api.begin("DELETE", `${TEAM}/configmaps`);
    }
  }

  async function interleave(seed: number): Promise<{ problems: string[]; removals: number; created: number }> {
    const world = new World({ seed });
    const random = world.randomFor("requests");
    const servers: TestServer[] = [];
    const stores: SlowStore[] = [];
    const wrapKv = (kv: Kv): Kv => {
      const store = new SlowStore(world, world.randomFor(`store ${stores.length}`), kv);
      stores.push(store);
      return store.kv;
    };
    for (let at = 0; at < 2; at++) servers.push(await startServer({ world, wrapKv }));
    await servers[0]!.create(NAMESPACES, NAMESPACE);
    await world.advance(0);
    const story = await follow(world);
    for (const store of stores) void store.start();
    const responses: Promise<ApiTestResponse>[] = [];
    for (let at = 0; at < 120; at++) {
      responses.push(ask(servers[randomInteger(random, 2)]!, random, at));
      await world.advance(randomInteger(random, 25));
    }
    const statuses = (await world.run(Promise.all(responses))).map(({ status }) => status);
    for (const store of stores) store.stop();
    for (const server of servers) await server[Symbol.asyncDispose]();
    await story.kv.close();
    return { ...story, created: statuses.filter((status) => status === 201).length };
  }

  test("no object ever exists without its namespace", async () => {
    let removals = 0;
    let created = 0;
    for (let seed = 1; seed <= 30; seed++) {
      const story = await interleave(seed);
      expect({ seed, problems: story.problems }).toEqual({ seed, problems: [] });
      removals += story.removals;
      created += story.created;
    }
    // Otherwise the requests would not have raced.
    expect(removals).toBeGreaterThan(30);
    expect(created).toBeGreaterThan(100);
  });
});

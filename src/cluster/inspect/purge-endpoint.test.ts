import { describe, expect, test } from "vitest";
import { configMap, startServer, type Json, type TestServer } from "../../../test/api/start.ts";
import type { WithUser } from "../../access/auth/user.ts";
import { localGroups } from "../../serving/discovery/local.ts";
import { Query } from "../../serving/http/query.ts";
import { StatusError } from "../../meta/status-error.ts";
import type { Kv } from "../../storage/kv.ts";
import { resourcesOf } from "../controllers/merge-cluster-resources.ts";
import { CONTROLLERS } from "../controllers/controller-names.ts";
import { FixedResources } from "../../../test/testing/cluster/controllers/namespace/fixed-resources.ts";
import { clientOf } from "../../../test/testing/cluster/controllers/namespace/running-controller.ts";
import { purgeEndpoint } from "./purge-endpoint.ts";

const NAMESPACES = "/api/v1/namespaces";
const TEAM = `${NAMESPACES}/team`;
const GONE = "resourceclaimparameters.resource.k8s.io";
const VALUE = Buffer.from(JSON.stringify({ kind: "X", apiVersion: "resource.k8s.io/v1alpha2", metadata: {} }));

class Purging implements AsyncDisposable {
  readonly api: TestServer;
  readonly resources: FixedResources;
  /** Called before each key is removed. */
  beforeRemoval: (key: string) => Promise<unknown> = () => Promise.resolve();
  readonly #handle: ReturnType<typeof purgeEndpoint>;

  constructor(api: TestServer) {
    const { env, clock } = api.world;
    this.api = api;
    this.resources = new FixedResources(resourcesOf(localGroups(api.server.catalog)));
    const kv: Pick<Kv, "range" | "commit"> = {
      range: (request) => api.kv.range(request),
      commit: async (change) => {
        await this.beforeRemoval(change.key);
        return api.kv.commit(change);
      },
    };
    this.#handle = purgeEndpoint({
      ...{ env: { ...env, clock }, config: { storageRoot: "/registry/" }, kv },
      ...{ client: clientOf(api), resources: this.resources },
    });
  }

  async ask(verb: string, query: string, groups = ["system:masters"]): Promise<Json> {
    const request = {
      info: { verb, segments: ["evenkeel", "v1", "purge-namespace"] },
      ...{ query: new Query(query), user: { name: "admin", groups } },
    };
    try {
      const { body } = await this.api.world.run(this.#handle(request as unknown as WithUser)!);
      return body.kind === "bytes" ? JSON.parse(Buffer.concat(body.chunks).toString()) : undefined;
    } catch (thrown) {
      if (thrown instanceof StatusError) return thrown.toStatus();
      throw thrown;
    }
  }

  async put(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const { items } = await this.api.kv.range({ start: `/registry/${key}` });
      const expectedRevision = items[0]?.modRevision ?? 0;
      await this.api.kv.commit({ kind: "put", key: `/registry/${key}`, value: VALUE, expectedRevision });
    }
  }

  async has(key: string): Promise<boolean> {
    return (await this.api.kv.range({ start: `/registry/${key}` })).items.length > 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.api[Symbol.asyncDispose]();
  }
}

/** Starts a server with a namespace that holds two objects which no server serves. */
async function start(): Promise<Purging> {
  const api = await startServer({ controllers: CONTROLLERS.map((name) => `-${name}`) });
  await api.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
  const purging = new Purging(api);
  await purging.put("resourceclaimparameters/team/a", "resourceclaimparameters/team/b");
  return purging;
}

describe("the list", () => {
  test("contains the keys of objects that no server serves", async () => {
    await using purging = await start();
    await purging.api.delete(TEAM);
    expect(await purging.ask("get", "namespace=team")).toEqual({
      ...{ kind: "NamespaceLeftovers", apiVersion: "evenkeel.io/v1", namespace: "team", more: 0, kept: [] },
      keys: [
        { resource: GONE, name: "a", key: "/registry/resourceclaimparameters/team/a" },
        { resource: GONE, name: "b", key: "/registry/resourceclaimparameters/team/b" },
      ],
      token: expect.any(String),
    });
  });

  test("is rejected with an error if the namespace is not being deleted, does not exist, or is not named", async () => {
    await using purging = await start();
    expect(await purging.ask("get", "namespace=team")).toMatchObject({
      code: 409,
      message: expect.stringContaining("it is not being deleted"),
    });
    expect(await purging.ask("get", "namespace=nowhere")).toMatchObject({ code: 404, details: { name: "nowhere" } });
    expect(await purging.ask("get", "")).toMatchObject({ code: 400 });
    expect(await purging.ask("delete", "namespace=team")).toMatchObject({ code: 405 });
  });

  test("gives the reason for each resource whose objects must stay", async () => {
    await using purging = await start();
    await purging.api.create(`${TEAM}/configmaps`, configMap("c"));
    await purging.put("example.com/widgets/team/w");
    await purging.api.delete(TEAM);
    const because = "departed at 2030-01-01T00:00:00Z";
    const doubt = { group: "resource.k8s.io", resource: "resourceclaimparameters", namespaced: true };
    purging.resources.change({ doubts: [{ ...doubt, server: "b", because }] });
    const list = await purging.ask("get", "namespace=team");
    expect(list.keys).toEqual([
      { resource: "widgets.example.com", name: "w", key: "/registry/example.com/widgets/team/w" },
    ]);
    expect(list.kept).toEqual([
      { resource: "configmaps", objects: 1, because: "it is served, and the namespace controller deletes it" },
      { resource: GONE, objects: 2, because: `b ${because}, and may serve it` },
    ]);
  });

  test("is empty while it is unknown what a server serves, and unavailable while the live servers are unknown", async () => {
    await using purging = await start();
    await purging.api.delete(TEAM);
    const anything = { group: undefined, resource: undefined, namespaced: undefined };
    purging.resources.change({
      doubts: [{ ...anything, server: "c", because: "has not yet published what it serves" }],
    });
    const list = await purging.ask("get", "namespace=team");
    expect(list).toMatchObject({ keys: [], kept: [{ resource: GONE, objects: 2 }] });
    expect(list).not.toHaveProperty("token");
    purging.resources.isCurrent = false;
    expect(await purging.ask("get", "namespace=team")).toMatchObject({ code: 503, details: { retryAfterSeconds: 1 } });
  });
});

describe("the removal", () => {
  test("removes the listed keys, and is recorded on the namespace and in an event", async () => {
    await using purging = await start();
    await purging.api.delete(TEAM);
    const { token } = await purging.ask("get", "namespace=team");
    expect(await purging.ask("post", `namespace=team&token=${token}`)).toMatchObject({
      removed: 2,
      changed: 0,
      more: 0,
    });
    expect(await purging.has("resourceclaimparameters/team/a")).toBe(false);
    const said = `by admin: 2 ${GONE} that no server served`;
    expect((await purging.api.get(TEAM)).body.metadata.annotations["evenkeel.io/purged"]).toContain(said);
    const { body } = await purging.api.get(`${NAMESPACES}/default/events`);
    expect(body.items[0]).toMatchObject({ reason: "NamespacePurged", involvedObject: { name: "team" } });
    expect(body.items[0].message).toContain(said);
  });

  test("requires the token of the current list", async () => {
    await using purging = await start();
    await purging.api.delete(TEAM);
    const { token } = await purging.ask("get", "namespace=team");
    await purging.put("resourceclaimparameters/team/c");
    expect(await purging.ask("post", `namespace=team&token=${token}`)).toMatchObject({
      code: 409,
      message: expect.stringContaining("has changed since it was listed"),
    });
    expect(await purging.ask("post", "namespace=team")).toMatchObject({ code: 400 });
    expect(await purging.has("resourceclaimparameters/team/a")).toBe(true);
  });

  test("skips keys that change during the removal", async () => {
    await using purging = await start();
    await purging.api.delete(TEAM);
    const { token } = await purging.ask("get", "namespace=team");
    purging.beforeRemoval = async (key) => {
      if (key.endsWith("/a")) await purging.put("resourceclaimparameters/team/a");
    };
    expect(await purging.ask("post", `namespace=team&token=${token}`)).toMatchObject({ removed: 1, changed: 1 });
    expect(await purging.has("resourceclaimparameters/team/a")).toBe(true);
  });

  test("removes no object of a resource for which a server publishes a StorageVersion entry meanwhile", async () => {
    await using purging = await start();
    await purging.api.delete(TEAM);
    const { token } = await purging.ask("get", "namespace=team");
    let isPublished = false;
    purging.beforeRemoval = async () => {
      if (!isPublished) await purging.put("storageversions/resource.k8s.io.resourceclaimparameters");
      isPublished = true;
    };
    expect(await purging.ask("post", `namespace=team&token=${token}`)).toMatchObject({ removed: 0, changed: 2 });
    expect(await purging.has("resourceclaimparameters/team/a")).toBe(true);
    expect(await purging.has("resourceclaimparameters/team/b")).toBe(true);
  });

  test("is rejected with the reason as soon as a server serves the resource again", async () => {
    await using purging = await start();
    await purging.api.delete(TEAM);
    const { token } = await purging.ask("get", "namespace=team");
    const [any] = purging.resources.served();
    const back = { ...any!, group: "resource.k8s.io", resource: "resourceclaimparameters" };
    purging.resources.change({ served: [...purging.resources.served(), back] });
    expect(await purging.ask("post", `namespace=team&token=${token}`)).toMatchObject({
      code: 409,
      message: expect.stringContaining(`2 ${GONE}: it is served, and the namespace controller deletes it`),
    });
  });

  test("is allowed only for system:masters", async () => {
    await using purging = await start();
    await purging.api.delete(TEAM);
    const { token } = await purging.ask("get", "namespace=team", ["system:authenticated"]);
    const response = await purging.ask("post", `namespace=team&token=${token}`, ["system:authenticated"]);
    expect(response).toMatchObject({ code: 403 });
    expect(await purging.has("resourceclaimparameters/team/a")).toBe(true);
  });
});

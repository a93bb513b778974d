import { describe, expect, test } from "vitest";
import { configMap, startServer, type TestServer } from "../../../../test/api/start.ts";
import { localGroups } from "../../../serving/discovery/local.ts";
import { resourcesOf } from "../merge-cluster-resources.ts";
import { CONTROLLERS } from "../controller-names.ts";
import { Deleting } from "../../../../test/testing/cluster/controllers/namespace/deleting.ts";
import { FixedResources } from "../../../../test/testing/cluster/controllers/namespace/fixed-resources.ts";
import { RunningController } from "../../../../test/testing/cluster/controllers/namespace/running-controller.ts";

const NAMESPACES = "/api/v1/namespaces";
const TEAM = `${NAMESPACES}/team`;
const DOUBT = { group: "batch", resource: "jobs", namespaced: true, server: "b", because: "cannot be reached" };

interface Started extends AsyncDisposable {
  readonly api: TestServer;
  readonly deleting: Deleting;
  /** Returns how often the controller has processed the namespace since the last call. */
  looks(): number;
}

async function start(): Promise<Started> {
  const api = await startServer({ controllers: CONTROLLERS.map((name) => `-${name}`) });
  const resources = new FixedResources(resourcesOf(localGroups(api.server.catalog)));
  await api.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
  const deleting = new Deleting(api, resources);
  const running = new RunningController(api, deleting.controller);
  await api.world.advance(1_000);
  return {
    api,
    deleting,
    looks: () => deleting.requests.splice(0).filter((request) => request === `GET ${TEAM}`).length,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      expect(resources.listeners).toBe(0);
      await api[Symbol.asyncDispose]();
    },
  };
}

describe("a namespace is enqueued", () => {
  test("when its deletion begins, but not when the controller changes its conditions", async () => {
    await using started = await start();
    const { api, looks } = started;
    await api.mergePatch(TEAM, { metadata: { labels: { a: "b" } } });
    await api.world.advance(1_000);
    expect(looks()).toBe(0);
    await api.delete(TEAM);
    await api.world.advance(4_000);
    expect((await api.get(TEAM)).body.status.conditions).toHaveLength(5);
    expect(looks()).toBe(1);
    await api.world.advance(2_000);
    expect((await api.get(TEAM)).status).toBe(404);
  });

  test("at once when a doubt is resolved, however long the delay until the next attempt is", async () => {
    await using started = await start();
    const { api, deleting, looks } = started;
    deleting.resources.change({ doubts: [DOUBT] });
    await api.delete(TEAM);
    await api.world.advance(300_000);
    expect(looks()).toBeLessThan(25);
    deleting.resources.change({ doubts: [] });
    await api.world.advance(50);
    expect((await api.get(TEAM)).status).toBe(404);
  });

  test("only if served resources or doubts have really changed", async () => {
    await using started = await start();
    const { api, deleting, looks } = started;
    deleting.resources.change({ doubts: [DOUBT] });
    await api.delete(TEAM);
    await api.world.advance(120_000);
    deleting.resources.change();
    await api.world.advance(100);
    looks();
    for (let time = 0; time < 50; time++) deleting.resources.change({ doubts: [{ ...DOUBT }] });
    await api.world.advance(100);
    expect(looks()).toBe(0);
  });

  test("when another client changes it", async () => {
    await using started = await start();
    const { api, looks } = started;
    await api.create(`${TEAM}/configmaps`, configMap("a", { metadata: { finalizers: ["example.com/hold"] } }));
    await api.delete(TEAM);
    await api.world.advance(120_000);
    looks();
    await api.mergePatch(TEAM, { metadata: { annotations: { "evenkeel.io/purged": "something" } } });
    await api.world.advance(50);
    expect(looks()).toBe(1);
  });
});

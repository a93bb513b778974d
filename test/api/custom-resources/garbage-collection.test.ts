import { expect, test } from "vitest";
import type { Log } from "../../../src/base/log.ts";
import { configMap, CONFIG_MAPS, names, startServer, type Json, type TestServer } from "../start.ts";
import { define, DEFINITIONS, GROUP, widget, WIDGETS } from "./define.ts";

/** The time in which the controllers complete all work that needs no retry. */
const SOON_MS = 10_000;

async function started(): Promise<TestServer> {
  const api = await startServer({ strictRelease: false });
  await define(api);
  await api.world.advance(SOON_MS);
  return api;
}

function ownedBy({ kind, apiVersion, metadata }: Json): Json {
  return { ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true }] };
}

test("deleting an owner deletes the custom resource that it owns, and then the dependents of the custom resource", async () => {
  await using api = await started();
  const root = await api.create(CONFIG_MAPS, configMap("root"));
  const middle = await api.create(WIDGETS, widget("middle", { metadata: ownedBy(root.body) }));
  await api.create(CONFIG_MAPS, configMap("leaf", { metadata: ownedBy(middle.body) }));
  await api.world.advance(SOON_MS);
  expect((await api.get(`${WIDGETS}/middle`)).status).toBe(200);
  await api.delete(`${CONFIG_MAPS}/root`);
  await api.world.advance(SOON_MS);
  expect((await api.get(`${WIDGETS}/middle`)).status).toBe(404);
  expect((await api.get(`${CONFIG_MAPS}/leaf`)).status).toBe(404);
});

test("a foreground deletion of a custom resource is complete only after the deletion of its dependents", async () => {
  await using api = await started();
  const owner = await api.create(WIDGETS, widget("owner"));
  const held = widget("held", { metadata: { ...ownedBy(owner.body), finalizers: ["example.com/hold"] } });
  await api.create(WIDGETS, held);
  await api.world.advance(SOON_MS);
  const { body } = await api.delete(`${WIDGETS}/owner`, { propagationPolicy: "Foreground" });
  expect(body.metadata.finalizers).toEqual(["foregroundDeletion"]);
  await api.world.advance(SOON_MS);
  expect(names(await api.get(WIDGETS))).toEqual(["held", "owner"]);
  await api.mergePatch(`${WIDGETS}/held`, { metadata: { finalizers: null } });
  await api.world.advance(SOON_MS);
  expect(names(await api.get(WIDGETS))).toEqual([]);
});

test("an orphan deletion keeps the dependents and removes their owner references", async () => {
  await using api = await started();
  const owner = await api.create(WIDGETS, widget("owner"));
  await api.create(WIDGETS, widget("child", { metadata: ownedBy(owner.body) }));
  await api.world.advance(SOON_MS);
  await api.delete(`${WIDGETS}/owner`, { propagationPolicy: "Orphan" });
  await api.world.advance(SOON_MS);
  expect(names(await api.get(WIDGETS))).toEqual(["child"]);
  expect((await api.get(`${WIDGETS}/child`)).body.metadata.ownerReferences).toBeUndefined();
});

test("deleting a namespace deletes its custom resources", async () => {
  await using api = await started();
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } };
  await api.create("/api/v1/namespaces", namespace);
  const target = WIDGETS.replace("/default/", "/team/");
  await api.create(target, widget("a"));
  await api.create(target, widget("held", { metadata: { finalizers: ["example.com/hold"] } }));
  await api.create(WIDGETS, widget("elsewhere"));
  await api.delete("/api/v1/namespaces/team");
  await api.world.advance(SOON_MS);
  const waiting = await api.get("/api/v1/namespaces/team");
  const remaining = waiting.body.status.conditions.find(({ type }: Json) => type === "NamespaceFinalizersRemaining");
  expect(remaining).toMatchObject({ status: "True" });
  expect(remaining.message).toContain("example.com/hold in 1 resource instances");
  expect((await api.create(target, widget("late"))).body).toMatchObject({ code: 403, reason: "Forbidden" });
  await api.mergePatch(`${target}/held`, { metadata: { finalizers: null } });
  await api.world.advance(30_000);
  expect((await api.get("/api/v1/namespaces/team")).status).toBe(404);
  expect(names(await api.get(`/apis/${GROUP}/v1/widgets`))).toEqual(["elsewhere"]);
});

test("creating an object in a missing namespace is rejected", async () => {
  await using api = await started();
  const target = WIDGETS.replace("/default/", "/nowhere/");
  expect((await api.create(target, widget("a"))).body).toMatchObject({
    code: 404,
    message: 'namespaces "nowhere" not found',
  });
});

test("a CRD can be deleted and created again, and the dependents of its deleted objects are garbage collected", async () => {
  await using api = await started();
  for (let round = 0; round < 3; round++) {
    const owner = await api.create(WIDGETS, widget("owner"));
    await api.create(CONFIG_MAPS, configMap(`child-${round}`, { metadata: ownedBy(owner.body) }));
    await api.world.advance(SOON_MS);
    await api.delete(`${DEFINITIONS}/widgets.${GROUP}`);
    await api.world.advance(SOON_MS);
    expect((await api.get(WIDGETS)).status).toBe(404);
    await define(api);
    await api.world.advance(SOON_MS);
  }
  await api.world.advance(60_000);
  expect(names(await api.get(CONFIG_MAPS)).filter((name) => name.startsWith("child"))).toEqual([]);
});

test("the garbage collector stops watching the resource of a deleted CRD without a warning", async () => {
  const logged: string[] = [];
  const say =
    (level: string) =>
    (message: string): void =>
      void (/collect/.test(message) && logged.push(`${level}: ${message}`));
  const log: Log = { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
  await using api = await startServer({ strictRelease: false, log });
  await define(api);
  await api.world.advance(SOON_MS);
  await api.delete(`${DEFINITIONS}/widgets.${GROUP}`);
  await api.world.advance(60_000);
  expect(logged).toEqual(["info: stopped collecting a resource that no server serves"]);
});

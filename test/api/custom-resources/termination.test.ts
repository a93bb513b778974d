import { describe, expect, test } from "vitest";
import { names, startServer, type Json } from "../start.ts";
import {
  applyPatch,
  condition,
  define,
  definition,
  DEFINITIONS,
  GROUP,
  redefine,
  version,
  widget,
  WIDGETS,
} from "./define.ts";

const NAME = `widgets.${GROUP}`;
const TARGET = `${DEFINITIONS}/${NAME}`;
const HELD = widget("held", { metadata: { finalizers: ["example.com/hold"] } });

describe("a CRD that is being deleted", () => {
  test("waits for objects with finalizers, and is removed after the last of them", async () => {
    await using api = await startServer();
    await define(api);
    await api.create(WIDGETS, widget("free"));
    await api.create(WIDGETS, HELD);
    const deleted = await api.delete(TARGET);
    expect(condition(deleted.body, "Terminating")).toMatchObject({ status: "True", reason: "InstanceDeletionPending" });
    await api.world.advance(1_500);
    expect(condition((await api.get(TARGET)).body, "Terminating").reason).toBe("InstanceDeletionInProgress");
    expect(names(await api.get(WIDGETS))).toEqual(["held"]);
    await api.mergePatch(`${WIDGETS}/held`, { metadata: { finalizers: null } });
    await api.world.advance(2_000);
    expect((await api.get(TARGET)).status).toBe(404);
  });

  test("causes DELETED events for its instances and for the CRD", async () => {
    await using api = await startServer();
    await define(api);
    await api.create(WIDGETS, widget("a"));
    const watch = await api.watch(`${WIDGETS}?watch=1`);
    const definitions = await api.watch(`${DEFINITIONS}?watch=1&fieldSelector=metadata.name%3D${NAME}`);
    await watch.events();
    await definitions.events();
    await api.delete(TARGET);
    await api.world.advance(2_000);
    expect(await watch.story()).toEqual(["DELETED a"]);
    expect((await definitions.story()).at(-1)).toBe(`DELETED ${NAME}`);
  });

  test("rejects new instances, accepts changes of existing instances, and is in discovery with only the verbs that read and delete", async () => {
    await using api = await startServer();
    await define(api);
    await api.create(WIDGETS, HELD);
    await api.delete(TARGET);
    const rejected = await api.create(WIDGETS, widget("new"));
    expect(rejected.body).toMatchObject({
      code: 403,
      message: `widgets.${GROUP} "new" is forbidden: create not allowed while custom resource definition is terminating`,
    });
    expect((await applyPatch(api, `${WIDGETS}/new?fieldManager=a`, widget("new"))).status).toBe(403);
    expect((await api.mergePatch(`${WIDGETS}/held`, { metadata: { labels: { a: "b" } } })).status).toBe(200);
    const { body } = await api.get(`/apis/${GROUP}/v1`);
    expect(body.resources[0].verbs).toEqual(["delete", "deletecollection", "get", "list", "watch"]);
  });

  test("cannot be created again before it is removed", async () => {
    await using api = await startServer();
    await define(api);
    await api.create(WIDGETS, HELD);
    await api.delete(TARGET);
    expect((await api.create(DEFINITIONS, definition())).body).toMatchObject({ code: 409, reason: "AlreadyExists" });
  });
});

test("deleting a CRD deletes its objects even if no version is served", async () => {
  await using api = await startServer();
  await define(api);
  await api.create(WIDGETS, widget("a"));
  await redefine(api, NAME, (spec) => ({ ...spec, versions: [version("v1", undefined, { served: false })] }));
  expect((await api.get(WIDGETS)).status).toBe(404);
  await api.delete(TARGET);
  await api.world.advance(2_000);
  expect((await api.get(TARGET)).status).toBe(404);
  await define(api);
  expect(names(await api.get(WIDGETS))).toEqual([]);
});

test("deleting a CRD deletes its objects in every namespace", async () => {
  await using api = await startServer();
  await define(api);
  await api.create(WIDGETS, widget("a"));
  await api.create(WIDGETS.replace("/default/", "/kube-system/"), widget("b"));
  expect(names(await api.get(`/apis/${GROUP}/v1/widgets`))).toEqual(["a", "b"]);
  await api.delete(TARGET);
  await api.world.advance(2_000);
  await define(api);
  expect(names(await api.get(`/apis/${GROUP}/v1/widgets`))).toEqual([]);
});

test("a CRD that was never served is removed immediately", async () => {
  await using api = await startServer();
  await define(api);
  const other = definition([version("v1")], { names: { plural: "others", kind: "Widget" } });
  expect(condition(await define(api, other), "Established").status).toBe("False");
  await api.delete(`${DEFINITIONS}/others.${GROUP}`);
  await api.world.advance(1_000);
  expect((await api.get(`${DEFINITIONS}/others.${GROUP}`)).status).toBe(404);
});

test("a CRD that is created again with another version and scope is served with the new version and scope", async () => {
  await using api = await startServer();
  await define(api);
  await api.create(WIDGETS, widget("a"));
  await api.delete(TARGET);
  await api.world.advance(2_000);
  await define(api, definition([version("v2", undefined, { storage: true })], { scope: "Cluster" }));
  expect((await api.get(WIDGETS)).status).toBe(404);
  const group: Json = (await api.get(`/apis/${GROUP}`)).body;
  expect(group.versions.map((one: Json) => one.version)).toEqual(["v2"]);
  const object = { ...widget("b"), apiVersion: `${GROUP}/v2` };
  expect((await api.create(`/apis/${GROUP}/v2/widgets`, object)).status).toBe(201);
  expect(names(await api.get(`/apis/${GROUP}/v2/widgets`))).toEqual(["b"]);
});

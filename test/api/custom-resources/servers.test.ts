/** Tests of CRDs in a cluster of several servers: each server watches the CRDs itself. */
import { expect, test } from "vitest";
import { World } from "../../../src/tools/simulator/world.ts";
import { holdKv, type HeldKv } from "../../testing/storage/held-kv.ts";
import { names, startServer, type Json, type TestServer } from "../start.ts";
import {
  condition,
  define,
  definition,
  DEFINITIONS,
  GROUP,
  redefine,
  schemaOf,
  version,
  widget,
  WIDGETS,
} from "./define.ts";

async function two(): Promise<{ one: TestServer; other: TestServer } & AsyncDisposable> {
  const world = new World({ seed: 11 });
  const one = await startServer({ world });
  const other = await startServer({ world });
  const end = async (): Promise<void> => {
    await one[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  };
  return { one, other, [Symbol.asyncDispose]: end };
}

test("a CRD that is created through one server is served by the other immediately", async () => {
  await using servers = await two();
  const { one, other } = servers;
  await one.create(DEFINITIONS, definition());
  expect((await other.create(WIDGETS, widget("a"))).status).toBe(201);
  expect(names(await one.get(WIDGETS))).toEqual(["a"]);
});

test("a server rejects creations while the CRD is being deleted through the other server", async () => {
  await using servers = await two();
  const { one, other } = servers;
  await define(one);
  await one.create(WIDGETS, widget("held", { metadata: { finalizers: ["example.com/hold"] } }));
  expect(names(await other.get(WIDGETS))).toEqual(["held"]);
  await one.delete(`${DEFINITIONS}/widgets.${GROUP}`);
  expect((await other.create(WIDGETS, widget("late"))).body).toMatchObject({ code: 403 });
  await other.mergePatch(`${WIDGETS}/held`, { metadata: { finalizers: null } });
  await one.world.advance(5_000);
  for (const api of [one, other]) expect((await api.get(`${DEFINITIONS}/widgets.${GROUP}`)).status).toBe(404);
});

test("the conditions of a CRD are written once, although two servers watch it", async () => {
  await using servers = await two();
  const { one, other } = servers;
  const defined = await define(one);
  await one.world.advance(10_000);
  const { body } = await other.get(`${DEFINITIONS}/widgets.${GROUP}`);
  expect(condition(body, "Established").status).toBe("True");
  expect(body.metadata.resourceVersion).toBe(defined.metadata.resourceVersion);
});

test("a change of the schema takes effect on both servers", async () => {
  await using servers = await two();
  const { one, other } = servers;
  await define(one, definition([version("v1", schemaOf({ a: { type: "string" } }))]));
  await other.create(WIDGETS, widget("a", { spec: { a: "1" } }));
  const schema = schemaOf({ a: { type: "string" }, b: { type: "string", default: "new" } });
  await redefine(one, `widgets.${GROUP}`, (spec: Json) => ({ ...spec, versions: [version("v1", schema)] }));
  for (const api of [one, other]) expect((await api.get(`${WIDGETS}/a`)).body.spec).toEqual({ a: "1", b: "new" });
});

test("a server that starts later serves existing CRDs", async () => {
  const world = new World({ seed: 12 });
  await using one = await startServer({ world });
  await define(one);
  await one.create(WIDGETS, widget("a"));
  await using late = await startServer({ world });
  expect(names(await late.get(WIDGETS))).toEqual(["a"]);
  expect((await late.get(`/apis/${GROUP}/v1`)).body.resources[0].name).toBe("widgets");
});

test("a version that was added through one server is served by another whose watch has not delivered it yet", async () => {
  const world = new World({ seed: 11 });
  let held: HeldKv | undefined;
  // This release has no mixed version proxy, which would look for a peer that serves the version.
  const release = "1.33";
  await using one = await startServer({ world, release });
  await using other = await startServer({ world, release, wrapKv: (kv) => (held = holdKv(kv)).kv });
  await define(one);
  expect((await other.get(WIDGETS)).status).toBe(200);
  held?.hold();
  await redefine(one, `widgets.${GROUP}`, (spec) => ({ ...spec, versions: [version("v1"), version("v2")] }));
  const seen = await other.get(WIDGETS.replace("/v1/", "/v2/"));
  expect([seen.status, seen.text]).toEqual([200, expect.stringContaining("WidgetList")]);
  held?.release();
});

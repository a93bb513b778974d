import { describe, expect, test } from "vitest";
import { header, startServer, type Json, type TestServer } from "../start.ts";
import { define, definition, GROUP, redefine, schemaOf, version, widget, WIDGETS } from "./define.ts";

const V2 = WIDGETS.replace("/v1/", "/v2/");
const KEY = `/registry/${GROUP}/widgets/default/a`;

async function stored(api: TestServer): Promise<Json> {
  const { items } = await api.kv.range({ start: KEY });
  return JSON.parse(items[0]!.value.toString());
}

function flipped(spec: Json): Json {
  return { ...spec, versions: spec.versions.map((one: Json) => ({ ...one, storage: !one.storage })) };
}

describe("versions that differ in nothing but their name", () => {
  test("an object is read in each of them, and stored in one", async () => {
    await using api = await startServer();
    await define(api, definition([version("v1"), version("v2")]));
    await api.create(V2, { ...widget("a", { spec: { b: 1 } }), apiVersion: `${GROUP}/v2` });
    expect((await stored(api)).apiVersion).toBe(`${GROUP}/v1`);
    expect((await api.get(`${WIDGETS}/a`)).body).toMatchObject({ apiVersion: `${GROUP}/v1`, spec: { b: 1 } });
    const list = await api.get(V2);
    expect(list.body).toMatchObject({ apiVersion: `${GROUP}/v2`, items: [{ apiVersion: `${GROUP}/v2` }] });
    const watch = await api.watch(`${V2}?watch=1`);
    expect((await watch.events())[0].object.apiVersion).toBe(`${GROUP}/v2`);
  });

  test("when storage moves, objects move when they are written, and not before", async () => {
    await using api = await startServer();
    await define(api, definition([version("v1"), version("v2")]));
    await api.create(WIDGETS, widget("a"));
    await redefine(api, `widgets.${GROUP}`, flipped);
    expect((await stored(api)).apiVersion).toBe(`${GROUP}/v1`);
    expect((await api.get(`${V2}/a`)).body.apiVersion).toBe(`${GROUP}/v2`);
    const { body } = await api.get(`${WIDGETS}/a`);
    expect((await api.put(`${WIDGETS}/a`, body)).status).toBe(200);
    expect((await stored(api)).apiVersion).toBe(`${GROUP}/v2`);
    expect((await api.get(`${WIDGETS}/a`)).body.apiVersion).toBe(`${GROUP}/v1`);
  });

  test("the body must be of the version of the path", async () => {
    await using api = await startServer();
    await define(api, definition([version("v1"), version("v2")]));
    const message = `the API version in the data (${GROUP}/v1) does not match the expected API version (${GROUP}/v2)`;
    expect((await api.create(V2, widget("a"))).body).toMatchObject({ code: 400, message });
  });

  test("a version that is not served is not found, and discovery does not show it", async () => {
    await using api = await startServer();
    await define(api, definition([version("v1"), version("v2", undefined, { served: false })]));
    expect((await api.get(V2)).status).toBe(404);
    expect((await api.get(`/apis/${GROUP}/v2`)).status).toBe(404);
    expect((await api.get(`/apis/${GROUP}`)).body.versions).toHaveLength(1);
  });
});

describe("versions whose schemas differ", () => {
  const TEXT = { type: "string" };
  const ONE = version("v1", schemaOf({ both: TEXT, one: { type: "string", default: "one" } }));
  const TWO = version("v2", schemaOf({ both: TEXT, two: { type: "string", default: "two" } }));

  test("what the version of the store does not name is not stored", async () => {
    await using api = await startServer();
    await define(api, definition([ONE, TWO]));
    const created = await api.create(V2, {
      ...widget("a", { spec: { both: "b", two: "lost" } }),
      apiVersion: `${GROUP}/v2`,
    });
    expect((await stored(api)).spec).toEqual({ both: "b" });
    expect(created.status).toBe(201);
    expect((await api.get(`${V2}/a`)).body.spec).toEqual({ both: "b" });
  });

  test("what is read has the defaults of the version in which it is stored, and what that one names", async () => {
    await using api = await startServer();
    await define(api, definition([ONE, TWO]));
    await api.create(WIDGETS, widget("a", { spec: { both: "b" } }));
    expect((await api.get(`${WIDGETS}/a`)).body.spec).toEqual({ both: "b", one: "one" });
    expect((await api.get(`${V2}/a`)).body.spec).toEqual({ both: "b" });
  });
});

describe("a deprecated version", () => {
  const warningOf = async (more: Json, others: readonly Json[] = []): Promise<string | undefined> => {
    await using api = await startServer();
    await define(api, definition([version("v1", undefined, more), ...others]));
    return header(await api.get(WIDGETS), "warning");
  };

  test.each<[string, Json, Json[], string | undefined]>([
    ["nothing is said of one that is not", {}, [], undefined],
    ["it is said that it is", { deprecated: true }, [], `299 - "${GROUP}/v1 Widget is deprecated"`],
    ["in the words of the definition", { deprecated: true, deprecationWarning: "no" }, [], '299 - "no"'],
    [
      "and which one to use",
      { deprecated: true },
      [version("v2"), version("v3", undefined, { served: false }), version("v1beta1")],
      `299 - "${GROUP}/v1 Widget is deprecated; use ${GROUP}/v2 Widget"`,
    ],
    ["but no older one", { deprecated: true }, [version("v1beta1")], `299 - "${GROUP}/v1 Widget is deprecated"`],
  ])("%s", async (_what, more, others, warning) => {
    expect(await warningOf(more, others)).toBe(warning);
  });
});

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

describe("versions with the same schema", () => {
  test("return an object in each of these versions, and the object is stored in one", async () => {
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

  test("keep stored objects in the old storage version until the objects are written again", async () => {
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

  test("reject a body whose version differs from that of the path", async () => {
    await using api = await startServer();
    await define(api, definition([version("v1"), version("v2")]));
    const message = `the API version in the data (${GROUP}/v1) does not match the expected API version (${GROUP}/v2)`;
    expect((await api.create(V2, widget("a"))).body).toMatchObject({ code: 400, message });
  });

  test("are neither served nor in discovery if the CRD does not mark them as served", async () => {
    await using api = await startServer();
    await define(api, definition([version("v1"), version("v2", undefined, { served: false })]));
    expect((await api.get(V2)).status).toBe(404);
    expect((await api.get(`/apis/${GROUP}/v2`)).status).toBe(404);
    expect((await api.get(`/apis/${GROUP}`)).body.versions).toHaveLength(1);
  });
});

describe("versions with different schemas", () => {
  const TEXT = { type: "string" };
  const ONE = version("v1", schemaOf({ both: TEXT, one: { type: "string", default: "one" } }));
  const TWO = version("v2", schemaOf({ both: TEXT, two: { type: "string", default: "two" } }));

  test("do not store fields that the storage version does not declare", async () => {
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

  test("apply only the defaults of the storage version, and return only fields that the requested version declares", async () => {
    await using api = await startServer();
    await define(api, definition([ONE, TWO]));
    await api.create(WIDGETS, widget("a", { spec: { both: "b" } }));
    expect((await api.get(`${WIDGETS}/a`)).body.spec).toEqual({ both: "b", one: "one" });
    expect((await api.get(`${V2}/a`)).body.spec).toEqual({ both: "b" });
  });
});

describe("a version", () => {
  const warningOf = async (more: Json, others: readonly Json[] = []): Promise<string | undefined> => {
    await using api = await startServer();
    await define(api, definition([version("v1", undefined, more), ...others]));
    return header(await api.get(WIDGETS), "warning");
  };

  test.each<[string, Json, Json[], string | undefined]>([
    ["that is not deprecated causes no warning", {}, [], undefined],
    ["that is deprecated causes a warning", { deprecated: true }, [], `299 - "${GROUP}/v1 Widget is deprecated"`],
    [
      "with a deprecation warning in the CRD causes that warning",
      { deprecated: true, deprecationWarning: "no" },
      [],
      '299 - "no"',
    ],
    [
      "that is deprecated causes a warning with the version to use",
      { deprecated: true },
      [version("v2"), version("v3", undefined, { served: false }), version("v1beta1")],
      `299 - "${GROUP}/v1 Widget is deprecated; use ${GROUP}/v2 Widget"`,
    ],
    [
      "that is deprecated causes a warning without an older version",
      { deprecated: true },
      [version("v1beta1")],
      `299 - "${GROUP}/v1 Widget is deprecated"`,
    ],
  ])("%s", async (_what, more, others, warning) => {
    expect(await warningOf(more, others)).toBe(warning);
  });
});

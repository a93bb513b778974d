/**
 * Tests of request bodies that need much more memory or time than their size suggests, or that modify JavaScript's
 * shared prototypes. The server rejects them or limits their effect.
 */
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from "vitest";
import type { PeerResponse, Json } from "../peers/client.ts";
import { applyOf, asTenant, createAsAdmin, OWN, patchOf, startSite, type Site } from "./start.ts";

const CONFIG_MAPS = `/api/v1/namespaces/${OWN}/configmaps`;
const TARGET = `${CONFIG_MAPS}/target`;
/** Longer than any rejection takes. A body that the server would expand takes minutes or all memory. */
const LONG_MS = 5_000;

let site: Site;
beforeAll(async () => {
  site = await startSite();
  await createAsAdmin(site.first, CONFIG_MAPS, { metadata: { name: "target" }, data: { a: "1" } });
});
afterAll(() => site[Symbol.asyncDispose]());

let before: Json;
beforeEach(async () => {
  before = (await site.first.get(CONFIG_MAPS)).body.items;
});
afterEach(unharmed);

async function unharmed(): Promise<void> {
  expect((await site.first.get(CONFIG_MAPS)).body.items).toEqual(before);
  expect((await site.first.get("/readyz")).status).toBe(200);
  expect(Object.keys(Object.prototype)).toEqual([]);
}

async function expectRejected(send: () => Promise<PeerResponse>, status: number): Promise<Json> {
  const started = performance.now();
  const response = await send();
  expect([response.status, response.body.status]).toEqual([status, "Failure"]);
  expect(performance.now() - started).toBeLessThan(LONG_MS);
  return response.body;
}

const post = (text: string, type = "application/json"): Promise<PeerResponse> =>
  asTenant(site.first, CONFIG_MAPS, { method: "POST", body: text, headers: { "content-type": type } });
const yaml = (text: string): Promise<PeerResponse> => post(text, "application/yaml");
const HEAD = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new"}';

/** With nine levels: a text of 0.5 kB whose aliases expand to more than 3 billion strings. */
function aliasBomb(levels: number): string {
  const lines = ['a0: &a0 ["lol","lol","lol","lol","lol","lol","lol","lol","lol"]'];
  for (let level = 1; level <= levels; level++)
    lines.push(`a${level}: &a${level} [${Array.from({ length: 9 }, () => `*a${level - 1}`).join(",")}]`);
  return lines.join("\n");
}

describe("a YAML body is rejected if it contains", () => {
  const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n";
  test.each([
    ["aliases that multiply", `${head}data:\n${aliasBomb(9).replaceAll(/^/gm, "  ")}\n`],
    [
      "aliases of maps that multiply",
      `${head}x: &x {a: 1}\n${Array.from({ length: 30 }, (_, at) => `x${at}: &x${at} {${at === 0 ? "<<: *x" : `a: *x${at - 1}, b: *x${at - 1}`}}`).join("\n")}\n`,
    ],
    ["an alias of itself", `${head}data: &d\n  a: *d\n`],
    ["lists nested 100,000 levels deep", `${head}data: ${"[".repeat(100_000)}${"]".repeat(100_000)}\n`],
    ["a tag that creates functions", `${head}data: !!js/function 'function () { return process }'\n`],
  ])("%s", async (_attack, text) => {
    await expectRejected(() => yaml(text), 400);
  });

  test("aliases that multiply, in the body of an apply", async () => {
    const call = { method: "PATCH", headers: { "content-type": "application/apply-patch+yaml" } };
    const body = `${head}data:\n${aliasBomb(9).replaceAll(/^/gm, "  ")}\n`;
    await expectRejected(() => asTenant(site.first, `${CONFIG_MAPS}/new?fieldManager=t`, { ...call, body }), 400);
  });
});

describe("a JSON body is rejected if it", () => {
  const deep = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const deepObject = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  test.each([
    ["has arrays of depth 100,000", `${HEAD},"data":${deep(100_000)}}`],
    ["has objects of depth 100,000", `${HEAD},"data":${deepObject(100_000)}}`],
    [
      "has depth 100,000 in an untyped field",
      `${HEAD},"metadata":{"managedFields":[{"fieldsV1":${deepObject(100_000)}}]}}`,
    ],
    ["never ends", `${HEAD},"data":${"[".repeat(100_000)}`],
    ["has a number out of range", `${HEAD},"data":{"a":1e999999999}}`],
  ])("%s", async (_attack, text) => {
    await expectRejected(() => post(text), 400);
  });

  test.each([
    ["a JSON patch", "json-patch+json", `[{"op":"add","path":"/data/b","value":${deep(100_000)}}]`],
    ["a merge patch", "merge-patch+json", `{"data":${deepObject(100_000)}}`],
    ["a strategic merge patch", "strategic-merge-patch+json", `{"data":${deepObject(100_000)}}`],
    ["an apply", "apply-patch+yaml", `${HEAD},"data":${deepObject(100_000)}}`],
  ])("has depth 100,000 in %s", async (_what, type, body) => {
    const call = { method: "PATCH", headers: { "content-type": `application/${type}` }, body };
    await expectRejected(() => asTenant(site.first, `${TARGET}?fieldManager=t`, call), 400);
  });
});

describe("keys such as __proto__ do not modify JavaScript's shared prototypes", () => {
  const polluted = '{"polluted":"yes"}';
  const notPolluted = (): void => expect(({} as Json).polluted).toBeUndefined();

  test("in an object and its maps", async () => {
    const keys = ["__proto__", "constructor", "prototype", "hasOwnProperty", "toString", "valueOf"];
    const data = keys.map((key) => `"${key}":"x"`).join(",");
    const call = { method: "POST", headers: { "content-type": "application/json" } };
    const text = `{"metadata":{"name":"new"},"__proto__":${polluted},"constructor":{"prototype":${polluted}},"data":{${data}}}`;
    const created = await asTenant(site.first, `${CONFIG_MAPS}?dryRun=All`, { ...call, body: text });
    notPolluted();
    expect(created.status).toBe(201);
    expect(Object.keys(created.body.data).toSorted()).toEqual(keys.toSorted());
    expect(Object.getPrototypeOf(created.body)).toBe(Object.prototype);
  });

  test.each([
    ["a JSON patch", "json-patch+json", '[{"op":"add","path":"/__proto__/polluted","value":"yes"}]'],
    [
      "a JSON patch of a constructor",
      "json-patch+json",
      '[{"op":"add","path":"/constructor/prototype/polluted","value":"yes"}]',
    ],
    ["a JSON patch that copies", "json-patch+json", '[{"op":"copy","from":"/data","path":"/__proto__/polluted"}]'],
    ["a JSON patch that moves", "json-patch+json", '[{"op":"move","from":"/data/__proto__","path":"/data/a"}]'],
  ])("in %s", async (_what, type, body) => {
    const call = { method: "PATCH", headers: { "content-type": `application/${type}` }, body };
    await expectRejected(() => asTenant(site.first, TARGET, call), 422);
    notPolluted();
  });

  const OWNER = '"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"target"}';
  const UNTYPED = "failed to create typed patch object (/target; /v1, Kind=ConfigMap): ";
  test.each([
    [
      "a merge patch",
      "merge-patch+json",
      `{"__proto__":${polluted},"constructor":{"prototype":${polluted}}}`,
      undefined,
    ],
    ["a merge patch of metadata", "merge-patch+json", `{"metadata":{"__proto__":${polluted}}}`, undefined],
    [
      "a strategic merge patch",
      "strategic-merge-patch+json",
      `{"__proto__":${polluted},"metadata":{"__proto__":${polluted}}}`,
      undefined,
    ],
    [
      "a strategic merge patch with an element order",
      "strategic-merge-patch+json",
      `{"__proto__":${polluted},"$setElementOrder/__proto__":[1]}`,
      "expected a []interface {}, but received a map[string]interface {}",
    ],
    [
      "an apply",
      "apply-patch+yaml",
      `{${OWNER},"__proto__":${polluted}}`,
      `${UNTYPED}.__proto__: field not declared in schema`,
    ],
    [
      "an apply in YAML with merged keys",
      "apply-patch+yaml",
      `apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: target}\ndata: {<<: *m, __proto__: ${polluted}}\n`,
      `${UNTYPED}.data.__proto__: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"polluted":"yes"}}`,
    ],
  ])("in %s", async (_what, type, body, message) => {
    const call = { method: "PATCH", headers: { "content-type": `application/${type}` }, body };
    const response = await asTenant(site.first, `${TARGET}?fieldManager=t&dryRun=All`, call);
    notPolluted();
    expect(response.body.message).toBe(message);
    expect(response.body.polluted).toBeUndefined();
  });

  test("in queries and headers", async () => {
    const response = await asTenant(
      site.first,
      `${CONFIG_MAPS}?__proto__=polluted&constructor=x&__proto__[polluted]=yes`,
      {
        headers: { __proto__x: "1", "content-type": "application/json" },
      },
    );
    expect(response.status).toBe(200);
    notPolluted();
  });
});

describe("the server rejects", () => {
  const copies = (count: number): Json[] =>
    Array.from({ length: count }, (_, at) => ({ op: "copy", from: "/data", path: `/data/${"x".repeat(3)}${at}` }));

  test("a JSON patch that doubles an object 100 times", async () => {
    await expectRejected(() => asTenant(site.first, TARGET, patchOf("json", copies(100))), 422);
  });

  test("a JSON patch that copies a large text repeatedly", async () => {
    const large = [{ op: "add", path: "/data/large", value: "x".repeat(500_000) }];
    const many = Array.from({ length: 5_000 }, (_, at) => ({ op: "copy", from: "/data/large", path: `/data/c${at}` }));
    const body = await expectRejected(() => asTenant(site.first, TARGET, patchOf("json", [...large, ...many])), 422);
    expect(body).toMatchObject({
      reason: "Invalid",
      message: "the server rejected our request due to an error in our request",
    });
  });

  test("a JSON patch of 60,000 operations", async () => {
    const many = Array.from({ length: 60_000 }, () => ({ op: "test", path: "/data/a", value: "1" }));
    const body = await expectRejected(() => asTenant(site.first, TARGET, patchOf("json", many)), 413);
    expect(body.message).toContain("The allowed maximum operations in a JSON patch is 10000, got 60000");
  });

  test("a merge patch that makes an object too large to store", async () => {
    const data = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`k${at}`, "x".repeat(60_000)]));
    await expectRejected(() => asTenant(site.first, TARGET, patchOf("merge", { data })), 422);
  });

  test("a strategic merge patch whose directives are nested 5,000 levels deep", async () => {
    const nested = (depth: number): Json =>
      depth === 0 ? { $patch: "replace" } : { $patch: "merge", a: nested(depth - 1) };
    const response = await asTenant(
      site.first,
      `${TARGET}?dryRun=All`,
      patchOf("strategic-merge", { data: nested(5_000) }),
    );
    expect([response.status, response.body.message]).toEqual([400, "exceeded max depth"]);
  });

  test("an apply that makes an object too large to store", async () => {
    const data = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`k${at}`, "x".repeat(250)]));
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "target" }, data };
    await expectRejected(() => asTenant(site.first, `${TARGET}?fieldManager=t&force=true`, applyOf(object)), 422);
  });
});

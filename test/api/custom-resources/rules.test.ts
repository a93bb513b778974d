/** Tests of the CEL validation rules of a CRD's schema through the whole server. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { startServer, type Json, type TestServer } from "../start.ts";
import { define, definition, DEFINITIONS, version, WIDGETS, widget } from "./define.ts";

let api: TestServer;

beforeEach(async () => {
  api = await startServer();
});

afterEach(() => api[Symbol.asyncDispose]());

const PROPERTIES = { size: { type: "integer" }, max: { type: "integer" }, owner: { type: "string" } };

function ruled(rules: readonly Json[]): Json {
  const spec = { type: "object", properties: PROPERTIES, "x-kubernetes-validations": rules };
  return definition([version("v1", { type: "object", properties: { spec } })]);
}

async function rejection(spec: Json): Promise<string | number> {
  const { status, body } = await api.create(WIDGETS, widget("one", { spec }));
  return status === 201 ? status : body.message;
}

test("an object that violates a rule is rejected with the message, the message expression or the rule itself", async () => {
  await define(
    api,
    ruled([
      { rule: "self.size <= self.max", message: "too large" },
      { rule: "self.size >= 0", messageExpression: "self.size < -5 ? 'far below' : 'below'" },
      { rule: "self.max < 100" },
    ]),
  );
  const said = (why: string): string => `Widget.test.example.com "one" is invalid: spec: Invalid value: ${why}`;
  expect(await rejection({ size: 3, max: 2 })).toBe(said("too large"));
  expect(await rejection({ size: -1, max: 2 })).toBe(said("below"));
  expect(await rejection({ size: 1, max: 100 })).toBe(said("failed rule: self.max < 100"));
  expect(await rejection({ size: 1, max: 2 })).toBe(201);
});

test("a transition rule applies only to updates", async () => {
  await define(api, ruled([{ rule: "self.owner == oldSelf.owner", message: "the owner stays" }]));
  expect(await rejection({ owner: "me" })).toBe(201);
  const changed = await api.mergePatch(`${WIDGETS}/one`, { spec: { owner: "you" } });
  expect([changed.status, changed.body.message]).toEqual([422, expect.stringContaining("the owner stays")]);
  expect((await api.mergePatch(`${WIDGETS}/one`, { spec: { size: 1 } })).status).toBe(200);
});

test("a CRD with rules that do not compile or cost too much is rejected", async () => {
  const rejected = async (rule: string): Promise<string> =>
    (await api.create(DEFINITIONS, ruled([{ rule }]))).body.message;
  expect(await rejected("self.nothing > 1")).toContain(
    "compilation failed: ERROR: <input>:1:5: undefined field 'nothing'",
  );
  expect(await rejected("self.size + 1")).toContain("cel expression must evaluate to a bool");
  const costly = "self.owner.split('').all(a, self.owner.split('').all(b, self.owner.split('').all(c, a + b == c)))";
  expect(await rejected(costly)).toContain("estimated rule cost exceeds budget");
});

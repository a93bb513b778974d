import { describe, expect, test } from "vitest";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { hasDefaults, setDefaults } from "./defaults.ts";
import { parseStructural } from "./parse.ts";

const text = (more: JsonObject = {}): JsonObject => ({ type: "string", ...more });
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });
const list = (items: JsonObject): JsonObject => object({ l: { type: "array", items } });

describe("setDefaults", () => {
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ["a missing field", object({ a: text({ default: "x" }) }), {}, { a: "x" }],
    ["no field that is there", object({ a: text({ default: "x" }) }), { a: "" }, { a: "" }],
    [
      "what is missing in a default",
      object({ n: object({ a: text({ default: "x" }) }, { default: {} }) }),
      {},
      { n: { a: "x" } },
    ],
    ["nothing in what is missing", object({ n: object({ a: text({ default: "x" }) }) }), {}, {}],
    [
      "items of lists",
      list(object({ a: text({ default: "x" }) })),
      { l: [{}, { a: "y" }, 5] },
      { l: [{ a: "x" }, { a: "y" }, 5] },
    ],
    [
      "values of maps",
      { type: "object", additionalProperties: object({ a: text({ default: "x" }) }) },
      { k: {}, m: "odd" },
      { k: { a: "x" }, m: "odd" },
    ],
    ["null that is not allowed", object({ a: text({ default: "x" }) }), { a: null }, { a: "x" }],
    ["no null that is allowed", object({ a: text({ default: "x", nullable: true }) }), { a: null }, { a: null }],
    ["null in a list", list(text({ default: "x" })), { l: [null, "y"] }, { l: ["x", "y"] }],
    [
      "null in a map",
      { type: "object", additionalProperties: object({}, { default: { q: 1 } }) },
      { k: null },
      { k: { q: 1 } },
    ],
  ])("fills in %s", (_, source, given, expected) => {
    const copy = structuredClone(given);
    const hasChanged = setDefaults(copy, parseStructural(source));
    expect(copy).toEqual(expected);
    expect(hasChanged).toBe(JSON.stringify(given) !== JSON.stringify(expected));
  });

  test("null that is not allowed and has no default goes from objects and stays in lists", () => {
    const schema = parseStructural(
      object({ a: text(), b: text({ nullable: true }), l: { type: "array", items: text() } }),
    );
    const given = { a: null, b: null, l: [null], unknown: null };
    expect(setDefaults(given, schema)).toBe(true);
    expect(given).toEqual({ b: null, l: [null], unknown: null });
  });

  test("every object gets a default of its own", () => {
    const schema = parseStructural(object({ n: object({}, { default: { q: 1 } }) }));
    const [one, other]: JsonObject[] = [{}, {}];
    setDefaults(one, schema);
    setDefaults(other, schema);
    objectAt(one!, "n")["q"] = 2;
    expect(other).toEqual({ n: { q: 1 } });
  });

  test("a default for a field called __proto__ is a field", () => {
    const properties = JSON.parse('{"__proto__":{"type":"string","default":"x"}}') as JsonObject;
    const given: JsonObject = {};
    setDefaults(given, parseStructural(object(properties)));
    expect(JSON.stringify(given)).toBe('{"__proto__":"x"}');
  });
});

test.each<[boolean, JsonObject]>([
  [true, object({ n: object({ a: text({ default: "x" }) }) })],
  [true, list(object({ a: text({ default: false }) }))],
  [false, object({ n: object({ a: text() }) })],
  [false, object({ a: text({ default: null }) })],
])("whether a schema has defaults: %s", (expected, source) => {
  expect(hasDefaults(parseStructural(source))).toBe(expected);
});

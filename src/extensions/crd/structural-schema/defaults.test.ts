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
    ["no field that exists", object({ a: text({ default: "x" }) }), { a: "" }, { a: "" }],
    [
      "fields that are missing in a default",
      object({ n: object({ a: text({ default: "x" }) }, { default: {} }) }),
      {},
      { n: { a: "x" } },
    ],
    ["nothing in an absent object", object({ n: object({ a: text({ default: "x" }) }) }), {}, {}],
    [
      "fields in items of lists",
      list(object({ a: text({ default: "x" }) })),
      { l: [{}, { a: "y" }, 5] },
      { l: [{ a: "x" }, { a: "y" }, 5] },
    ],
    [
      "fields in values of maps",
      { type: "object", additionalProperties: object({ a: text({ default: "x" }) }) },
      { k: {}, m: "odd" },
      { k: { a: "x" }, m: "odd" },
    ],
    ["a field that is null, if that is not allowed", object({ a: text({ default: "x" }) }), { a: null }, { a: "x" }],
    [
      "no field that is null, if that is allowed",
      object({ a: text({ default: "x", nullable: true }) }),
      { a: null },
      { a: null },
    ],
    ["an item that is null", list(text({ default: "x" })), { l: [null, "y"] }, { l: ["x", "y"] }],
    [
      "a map value that is null",
      { type: "object", additionalProperties: object({}, { default: { q: 1 } }) },
      { k: null },
      { k: { q: 1 } },
    ],
  ])("sets %s", (_, source, given, expected) => {
    const copy = structuredClone(given);
    const hasChanged = setDefaults(copy, parseStructural(source));
    expect(copy).toEqual(expected);
    expect(hasChanged).toBe(JSON.stringify(given) !== JSON.stringify(expected));
  });

  test("removes a null that is not allowed and has no default from an object, but keeps it in a list", () => {
    const schema = parseStructural(
      object({ a: text(), b: text({ nullable: true }), l: { type: "array", items: text() } }),
    );
    const given = { a: null, b: null, l: [null], unknown: null };
    expect(setDefaults(given, schema)).toBe(true);
    expect(given).toEqual({ b: null, l: [null], unknown: null });
  });

  test("sets a separate copy of the default in every object", () => {
    const schema = parseStructural(object({ n: object({}, { default: { q: 1 } }) }));
    const [one, other]: JsonObject[] = [{}, {}];
    setDefaults(one, schema);
    setDefaults(other, schema);
    objectAt(one!, "n")["q"] = 2;
    expect(other).toEqual({ n: { q: 1 } });
  });

  test("sets a field named __proto__ like any other field", () => {
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
])("hasDefaults returns %s for a schema, depending on its nested schemas", (expected, source) => {
  expect(hasDefaults(parseStructural(source))).toBe(expected);
});

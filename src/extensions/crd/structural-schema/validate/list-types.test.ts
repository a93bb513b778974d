import { expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { parseStructural } from "../parse.ts";
import { listTypeErrors } from "./list-types.ts";

const set = (items: JsonObject): JsonObject => ({ type: "array", "x-kubernetes-list-type": "set", items });
const map = (...keys: string[]): JsonObject => ({
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
  items: { type: "object", properties: { l: set({ type: "string" }) } },
});

test.each<[string, JsonObject, unknown, string[]]>([
  ["of items more than twice there the second", set({}), ["a", "a", "a", "b"], ['v[1]: Duplicate value: "a"']],
  [
    "equal lists",
    set({}),
    [
      [1, 2],
      [2, 1],
      [1, 2],
    ],
    ["v[2]: Duplicate value: [1,2]"],
  ],
  [
    "equal objects in any order",
    set({}),
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    ['v[1]: Duplicate value: {"a":1,"b":2}'],
  ],
  ["no items that only look alike", set({}), [1, "1", true, "true", null], []],
  [
    "equal keys",
    map("n"),
    [
      { n: "a", v: 1 },
      { n: "a", v: 2 },
    ],
    ['v[1]: Duplicate value: {"n":"a"}'],
  ],
  ["missing keys", map("n"), [{}, null, { n: "a" }], ["v[1]: Duplicate value: {}"]],
  [
    "equal pairs of keys",
    map("n", "p"),
    [{ p: 1, n: "a" }, { n: "a", p: 1 }, { n: "a" }],
    ['v[1]: Duplicate value: {"n":"a","p":1}'],
  ],
  [
    "what is no object",
    map("n"),
    [{}, "x"],
    ['v[1]: Invalid value: "x": must be an object for an array of list-type map'],
  ],
  ["sets in maps", map("n"), [{ n: "a", l: ["x", "x"] }], ['v[0].l[1]: Duplicate value: "x"']],
  [
    "sets in objects",
    { type: "object", additionalProperties: set({}) },
    { k: [1, 1] },
    ["v[k][1]: Duplicate value: 1"],
  ],
  ["nothing where a list is something else", set({}), "x", []],
])("lists that are sets or maps: %s", (_, source, value, expected) => {
  const schema = parseStructural({ type: "object", properties: { v: source } });
  const told = [...listTypeErrors({ v: value }, schema)].map(({ field, message }) => `${field}: ${message}`);
  expect(told).toEqual(expected);
});

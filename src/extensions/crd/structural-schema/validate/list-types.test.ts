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
  ["of three equal items only the second is reported", set({}), ["a", "a", "a", "b"], ['v[1]: Duplicate value: "a"']],
  [
    "equal lists are reported",
    set({}),
    [
      [1, 2],
      [2, 1],
      [1, 2],
    ],
    ["v[2]: Duplicate value: [1,2]"],
  ],
  [
    "equal objects are reported, in any order of their fields",
    set({}),
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    ['v[1]: Duplicate value: {"a":1,"b":2}'],
  ],
  ["items of different types are not equal", set({}), [1, "1", true, "true", null], []],
  [
    "equal keys are reported",
    map("n"),
    [
      { n: "a", v: 1 },
      { n: "a", v: 2 },
    ],
    ['v[1]: Duplicate value: {"n":"a"}'],
  ],
  ["missing keys are equal", map("n"), [{}, null, { n: "a" }], ["v[1]: Duplicate value: {}"]],
  [
    "equal pairs of keys are reported",
    map("n", "p"),
    [{ p: 1, n: "a" }, { n: "a", p: 1 }, { n: "a" }],
    ['v[1]: Duplicate value: {"n":"a","p":1}'],
  ],
  [
    "an item that is not an object is reported",
    map("n"),
    [{}, "x"],
    ['v[1]: Invalid value: "x": must be an object for an array of list-type map'],
  ],
  ["sets in maps are checked", map("n"), [{ n: "a", l: ["x", "x"] }], ['v[0].l[1]: Duplicate value: "x"']],
  [
    "sets in objects are checked",
    { type: "object", additionalProperties: set({}) },
    { k: [1, 1] },
    ["v[k][1]: Duplicate value: 1"],
  ],
  ["a value that is not a list is ignored", set({}), "x", []],
])("validating lists of type set or map: %s", (_, source, value, expected) => {
  const schema = parseStructural({ type: "object", properties: { v: source } });
  const reported = [...listTypeErrors({ v: value }, schema)].map(({ field, message }) => `${field}: ${message}`);
  expect(reported).toEqual(expected);
});

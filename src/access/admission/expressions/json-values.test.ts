import { expect, test } from "vitest";
import { equals, ListValue, MapValue } from "../../../objects/cel/values/value.ts";
import { jsonValue } from "./json-values.ts";

test.each<[unknown, unknown]>([
  ["text", "text"],
  [true, true],
  [3, 3n],
  [2n ** 60n, 2n ** 60n],
  [1.5, 1.5],
  [1e300, 1e300],
  [null, null],
  [undefined, null],
])("the JSON value %s is converted to the CEL value %s", (json, value) => {
  expect(jsonValue(json)).toBe(value);
});

test("an object is converted to a map that contains only its own keys with defined values", () => {
  const map = jsonValue({ a: { b: [1, "x"] }, gone: undefined, none: null }) as MapValue;
  expect(map).toBeInstanceOf(MapValue);
  expect(map.size).toBe(2);
  expect(map.keys()).toEqual(["a", "none"]);
  expect(map.find("none")).toBe(null);
  expect([map.find("gone"), map.find("constructor"), map.find(1n)]).toEqual([undefined, undefined, undefined]);
  expect(map.find("a")).toBe(map.find("a"));
  expect((jsonValue({ a: { b: [1, "x"] }, none: null }) as MapValue).weight).toBe(5);
});

test("a list is converted element by element", () => {
  const list = jsonValue([1, [2], {}]) as ListValue;
  expect(list.size).toBe(3);
  expect(list.at(0)).toBe(1n);
  expect(list.at(1)).toBeInstanceOf(ListValue);
  expect(list.weight).toBe(4);
});

test("converted objects and lists are equal if all their nested values are equal", () => {
  expect(equals(jsonValue({ a: [1, { b: 2 }] }), jsonValue({ a: [1.0, { b: 2n }] }))).toBe(true);
  expect(equals(jsonValue({ a: [1] }), jsonValue({ a: [2] }))).toBe(false);
  expect(equals(jsonValue({ a: null }), jsonValue({ b: null }))).toBe(false);
});

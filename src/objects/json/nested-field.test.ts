import { expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { nestedInteger, nestedText, withNestedValue } from "./nested-field.ts";

const PATH = ["spec", "size", "replicas"];

test.each([
  [{ spec: { size: { replicas: 3 } } }, { value: 3 }],
  [{}, {}],
  [{ spec: null }, {}],
  [{ spec: { size: {} } }, {}],
  [
    { spec: { size: { replicas: "3" } } },
    ".spec.size.replicas accessor error: 3 is of the type string, expected int64",
  ],
  [
    { spec: { size: { replicas: 2.5 } } },
    ".spec.size.replicas accessor error: 2.5 is of the type float64, expected int64",
  ],
  [
    { spec: { size: { replicas: 1e30 } } },
    ".spec.size.replicas accessor error: 1e+30 is of the type float64, expected int64",
  ],
  [
    { spec: { size: { replicas: true } } },
    ".spec.size.replicas accessor error: true is of the type bool, expected int64",
  ],
  [
    { spec: { size: { replicas: null } } },
    ".spec.size.replicas accessor error: <nil> is of the type <nil>, expected int64",
  ],
  [
    { spec: { size: { replicas: { z: 1, a: "q" } } } },
    ".spec.size.replicas accessor error: map[a:q z:1] is of the type map[string]interface {}, expected int64",
  ],
  [
    { spec: { size: { replicas: [1, "a", null] } } },
    ".spec.size.replicas accessor error: [1 a <nil>] is of the type []interface {}, expected int64",
  ],
  [
    { spec: { size: 5 } },
    ".spec.size.replicas accessor error: 5 is of the type int64, expected map[string]interface{}",
  ],
  [{ spec: "x" }, ".spec.size accessor error: x is of the type string, expected map[string]interface{}"],
] satisfies [JsonObject, object | string][])(
  "nestedInteger of %j returns the expected value or problem",
  (object, expected) =>
    expect(nestedInteger(object, PATH)).toEqual(typeof expected === "string" ? { problem: expected } : expected),
);

test("nestedText returns only a string", () => {
  expect(nestedText({ a: "b" }, ["a"])).toEqual({ value: "b" });
  expect(nestedText({ a: 5 }, ["a"])).toEqual({
    problem: ".a accessor error: 5 is of the type int64, expected string",
  });
});

test("withNestedValue sets a value in a copy and creates missing parents", () => {
  const object = { spec: { size: { other: 1 }, more: {} } };
  expect(withNestedValue(object, PATH, 4)).toEqual({
    object: { spec: { size: { other: 1, replicas: 4 }, more: {} } },
  });
  expect(object).toEqual({ spec: { size: { other: 1 }, more: {} } });
  expect(withNestedValue({}, PATH, 4)).toEqual({ object: { spec: { size: { replicas: 4 } } } });
  expect(withNestedValue({ spec: { size: null } }, PATH, 4)).toEqual({
    problem: "value cannot be set because .spec.size is not a map[string]interface{}",
  });
});

test("no path leads into a prototype", () => {
  expect(nestedText({}, ["constructor", "name"])).toEqual({});
  const { object } = withNestedValue({}, ["__proto__", "polluted"], 1) as { object: JsonObject };
  expect(Object.hasOwn(object, "__proto__")).toBe(true);
  expect(({} as JsonObject)["polluted"]).toBeUndefined();
});

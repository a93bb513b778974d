import { describe, expect, test } from "vitest";
import { goKind, goType, jsonKind, printAsString, printValue } from "./go-value.ts";

describe("printValue", () => {
  test.each<[value: unknown, text: string]>([
    [{ b: 1, a: [true, null, "x y"], c: {} }, "map[a:[true <nil> x y] b:1 c:map[]]"],
    [[], "[]"],
    ["", ""],
    [null, "<nil>"],
    [0, "0"],
    [-3, "-3"],
    [1.5, "1.5"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [0.00000012, "1.2e-07"],
    [1e21, "1e+21"],
    [1e-12, "1e-12"],
  ])("%j is %s", (value, text) => {
    expect(printValue(value)).toBe(text);
  });

  test.each([
    ["texts", "x".repeat(100_000)],
    ["lists", Array.from({ length: 100_000 }, () => "x")],
    ["maps", Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, {}]))],
  ])("long %s are cut", (_what, value) => {
    const text = printValue(value);
    expect(text.length).toBeLessThan(9_000);
    expect(text.endsWith("...")).toBe(true);
  });
});

test.each<[value: unknown, text: string]>([
  ["x", "x"],
  [1, "%!s(int64=1)"],
  [1.5, "%!s(float64=1.5)"],
  [false, "%!s(bool=false)"],
  [null, "%!s(<nil>)"],
])("as a text, %j is %s", (value, text) => {
  expect(printAsString(value)).toBe(text);
});

test.each<[value: unknown, type: string, kind: string, json: string]>([
  ["x", "string", "string", "string"],
  [1, "int64", "int64", "number"],
  [1.5, "float64", "float64", "number"],
  [true, "bool", "bool", "bool"],
  [[], "[]interface {}", "slice", "array"],
  [{}, "map[string]interface {}", "map", "object"],
])("%j is of the type %s", (value, type, kind, json) => {
  expect([goType(value), goKind(value), jsonKind(value)]).toEqual([type, kind, json]);
});

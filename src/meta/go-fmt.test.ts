import { describe, expect, test } from "vitest";
import { goStringText, goType, goValueText, jsonKind, unmarshalError } from "./go-fmt.ts";

describe("goValueText", () => {
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
    [1234567, "1234567"],
    [1234567.5, "1.2345675e+06"],
    [2 ** 63, "9.223372036854776e+18"],
    [-(2 ** 63), "-9223372036854775808"],
    [1e-12, "1e-12"],
  ])("of %j is %s", (value, text) => {
    expect(goValueText(value)).toBe(text);
  });

  test.each([
    ["texts", "x".repeat(100_000)],
    ["lists", Array.from({ length: 100_000 }, () => "x")],
    ["maps", Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, {}]))],
  ])("truncates long %s", (_what, value) => {
    const text = goValueText(value, { charactersMax: 8 * 1024 });
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
])("goStringText of %j is %s", (value, text) => {
  expect(goStringText(value)).toBe(text);
});

test.each<[value: unknown, type: string, json: string]>([
  ["x", "string", "string"],
  [1, "int64", "number"],
  [1.5, "float64", "number"],
  [true, "bool", "bool"],
  [[], "[]interface {}", "array"],
  [{}, "map[string]interface {}", "object"],
])("%j has the type %s", (value, type, json) => {
  expect([goType(value), jsonKind(value)]).toEqual([type, json]);
});

test("unmarshalError shows the number only if the target is a number", () => {
  expect(unmarshalError(1.5, "value of type int32", true)).toBe(
    "json: cannot unmarshal number 1.5 into Go value of type int32",
  );
  expect(unmarshalError(1.5, "value of type string")).toBe(
    "json: cannot unmarshal number into Go value of type string",
  );
});

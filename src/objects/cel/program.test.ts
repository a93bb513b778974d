/** Tests the results and the costs of the CEL language itself, and the limits of an evaluation. */
import { describe, expect, test } from "vitest";
import { celEnvironment } from "./environment.ts";
import { compile } from "./program.ts";
import { evaluated } from "../../../test/testing/objects/cel/evaluated.ts";
import { INT, listOf, STRING } from "./types/type.ts";
import { ArrayList } from "./values/value.ts";
import { gatesOf } from "../catalog/release-gates.ts";
import type { ReleaseName } from "../catalog/release.ts";

type Row = readonly [expression: string, value: string, cost: number];

const LANGUAGE: readonly Row[] = [
  ["-(1)", "-1", 1],
  ["- 1", "-1", 0],
  ["1 - -1", "2", 1],
  ["--1", "1", 0],
  ["-9223372036854775808", "-9223372036854775808", 0],
  ["[1,2,][0]", "1", 2],
  ["[?optional.none(), 1]", "[1]", 11],
  ["{?'a': optional.of(1)}", "{a: 1}", 31],
  ["1 == 1 == true", "true", 2],
  ["optional.of(1).optMap(x, x + 1)", "optional(2)", 7],
  ["0x1F", "31", 0],
  ["-0x1F", "-31", 0],
  ["1u", "1u", 0],
  [".5", "0.5", 0],
  ["b'é\\x41'", "bytes c3a941", 0],
  ["r'\\d'", "\\d", 0],
  ["1/0", "error: division by zero", 1],
  ["1%0", "error: modulus by zero", 1],
  ["9223372036854775807 + 1", "error: integer overflow", 1],
  ["dyn(1) == 1.0", "true", 1],
  ["1 < 1.5", "true", 1],
  ["string(1.5)", "1.5", 0],
  ["string(-1.23e4)", "-12300", 0],
  ["string(1e100)", "1e+100", 0],
  ["string(1e20)", "1e+20", 0],
  ["string(1e21)", "1e+21", 0],
  ["string(0.000001)", "1e-06", 0],
  ["string(duration('90m'))", "5400s", 0],
  ["string(duration('1.5s'))", "1.5s", 0],
  ["string(timestamp('2023-01-02T03:04:05.5Z'))", "2023-01-02T03:04:05.5Z", 0],
  ["timestamp('2023-01-02T03:04:05+02:00')", "2023-01-02T03:04:05+02:00", 0],
  ["duration('1h30m').getMinutes()", "90", 1],
  ["int('abc')", "no program: type conversion error from 'string' to 'int'", 0],
  ["int(1e300)", "no program: integer overflow", 0],
  ["int(1.9)", "1", 0],
  ["uint(-1)", "no program: unsigned integer overflow", 0],
  ["timestamp('2023-01-02T03:04:05Z').getHours('America/New_York')", "22", 1],
  ["timestamp('2023-01-02T03:04:05Z').getHours('-02:30')", "0", 1],
  ["timestamp('2023-01-02T03:04:05Z').getDayOfWeek()", "1", 1],
  ["timestamp('2023-01-02T03:04:05Z').getDayOfYear()", "1", 1],
  ["timestamp('2023-01-02T03:04:05Z').getHours('Foo/Bar')", "error: unknown time zone Foo/Bar", 1],
  ["timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow", 1],
  ["timestamp('2023-01-02T03:04:05Z') - timestamp('2023-01-01T03:04:05Z')", "86400s", 1],
  ["[1,2,3].exists_one(x, x > 2)", "true", 10],
  ["[1,2,3].map(x, x * 2)", "[2, 4, 6]", 43],
  ["[1,2,3].filter(x, x > 1)", "[2, 3]", 33],
  ["[1,2,3].all(x, x > 0)", "true", 16],
  ["[1,2,3].exists(x, x > 2)", "true", 19],
  ["[1,2,3].map(x, x > 1, x * 2)", "[4, 6]", 35],
  ["{'a': 1}['a']", "1", 2],
  ["[1, 0].all(x, 1/x > 0)", "error: division by zero", 13],
  ["[0, 1].exists(x, 1/x > 0)", "true", 15],
  ["false && 1/0 > 0", "false", 0],
  ["1/0 > 0 && false", "false", 2],
  ["1/0 > 0 || true", "true", 2],
  ["1/0 > 0 || false", "error: division by zero", 2],
  ["{'a':1,'a':2}", "{a: 2}", 0],
  ["dyn(1)[0]", "error: no such key: 0", 2],
  ["dyn('a')[0]", "error: no such key: 0", 2],
  ["dyn([1])['a']", "error: unsupported index type 'string' in list", 2],
  ["dyn({'a':1})[0]", "error: no such key: 0", 2],
  ["dyn([1])[1.0]", "error: index out of bounds: 1", 2],
  ["-dyn('a')", "error: no such overload", 1],
  ["!dyn(1)", "error: no such overload", 1],
  ["dyn(1) && true", "error: no such overload", 0],
  ["dyn(1) ? 1 : 2", "error: no such overload", 0],
  ["1 < dyn('a')", "error: no such overload", 1],
  ["dyn(1).matches('a')", "error: no such overload", 1],
  ["size(dyn(1))", "error: no such overload: size", 1],
  ["dyn(1).all(x, true)", "error: got 'types.Int', expected iterable type", 0],
  ["int(dyn(null))", "no program: no such overload: int(null_type)", 0],
  ["null == null", "true", 1],
  ["optional.none().value()", "error: optional.none() dereference", 2],
  ["optional.of(1).or(optional.of(2))", "optional(1)", 1],
  ["optional.of(1).orValue(2)", "1", 1],
  ["optional.ofNonZeroValue('')", "none", 1],
  ["[1,2].first()", "optional(1)", 1],
  ["[1,2].last()", "optional(2)", 1],
  ["type(1)", "type int", 0],
  ["type(type(1))", "type type", 0],
  ["type(duration('1s'))", "type google.protobuf.Duration", 0],
  ["type(optional.none())", "type optional_type", 2],
  ["bytes('a')", "bytes 61", 0],
  ["string(b'\\xff')", "no program: invalid UTF-8 in bytes, cannot convert to string", 0],
  ["b'ab' + b'c'", "bytes 616263", 1],
  ["b'ab' < b'c'", "true", 1],
  ["1u + 1u", "2u", 1],
  ["1u - 2u", "error: unsigned integer overflow", 1],
  ["5 % 3", "2", 1],
  ["-5 % 3", "-2", 1],
  ["-5 / 3", "-1", 1],
  ["7.0 / 0.0", "+Inf", 1],
  ["0.0/0.0 < 1.0", "error: NaN values cannot be ordered", 2],
  ["9223372036854775807 * 2", "error: integer overflow", 1],
  ["-(-9223372036854775807 - 1)", "error: integer overflow", 2],
];

test.each(LANGUAGE)("%s has the expected value and cost", (expression, value, cost) => {
  expect(evaluated(expression)).toMatchObject({ value, cost });
});

describe("an evaluation is canceled", () => {
  const numbers = new ArrayList(Array.from({ length: 100_000 }, (_none, index) => BigInt(index)));
  const variables = new Map([
    ["numbers", listOf(INT)],
    ["text", STRING],
  ]);
  const TOO_LONG = "operation cancelled: actual cost limit exceeded";

  test.each([
    ["when its cost exceeds the limit", "numbers.all(x, numbers.all(y, x + y >= 0))"],
    ["when a loop without cost has too many iterations", "numbers.all(x, numbers.filter(y, false).size() == 0)"],
    ["when a list is doubled repeatedly", `[numbers]${".map(x, x + x)".repeat(60)}[0].exists(x, x < 0)`],
    ["when a string grows too long", `text${".replace('', text)".repeat(9)} == ''`],
    ["when long strings are processed repeatedly", "numbers.all(x, size(text) > 0)"],
    [
      "when a value nests itself repeatedly",
      `[1]${".map(x, [x, x])".repeat(60)} == [1]${".map(x, [x, x])".repeat(60)}`,
    ],
    ["when a deeply nested value is formatted", `'%s'.format([[1]${".map(x, {'a': x, 'b': x})".repeat(60)}]) == ''`],
    ["before a call that costs too much", "lists.range(1000000000).size() > 0"],
    ["when a macro evaluates its operand twice", `optional.of(1)${".optMap(x, x)".repeat(100)}.hasValue()`],
  ])("%s", (_why, expression) => {
    const compiled = compile(expression, celEnvironment(gatesOf("1.36")), variables);
    if (!("evaluate" in compiled)) throw new Error(JSON.stringify(compiled));
    const { value } = compiled.evaluate([numbers, "text".repeat(50_000)], 1_000_000);
    expect(value).toMatchObject({ message: TOO_LONG });
  });
});

test("an expression whose type doubles with every macro is compiled quickly", () => {
  const { value } = evaluated(`[{1: 1}]${".map(a, [{'k': a}, {'k': a}])".repeat(200)}.size()`);
  expect(value).toBe("1");
});

test("a program reports the variables that it uses", () => {
  const compiled = compile(
    "a.exists(b, b > 0)",
    celEnvironment(gatesOf("1.36")),
    new Map([
      ["a", listOf(INT)],
      ["b", INT],
    ]),
  );
  if (!("uses" in compiled)) throw new Error(JSON.stringify(compiled));
  expect(compiled.uses("a")).toBe(true);
});

test.each<[expression: string, before: ReleaseName, since: ReleaseName]>([
  ["semver('1.2.3').major()", "1.32", "1.33"],
  ["[2, 1].sort()", "1.33", "1.34"],
  ["[1].all(i, x, x > 0)", "1.31", "1.32"],
  ["[2, 1].sortBy(x, x)", "1.33", "1.34"],
  ["format.uuid().validate('').hasValue()", "1.30", "1.31"],
])("%s is undeclared in %s and declared in %s", (expression, before, since) => {
  expect(evaluated(expression, before).value).toContain("ERROR");
  expect(evaluated(expression, since).value).not.toContain("ERROR");
});

import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { parseStructural } from "../parse.ts";
import { valueErrors, type ValueErrorOptions } from "./validate-value.ts";
import { gatesOf } from "../../../../objects/catalog/release-gates.ts";

function errors(source: JsonObject, value: unknown, options: ValueErrorOptions = {}): string[] {
  const schema = parseStructural({ type: "object", properties: { v: source } });
  const { existing, ...rest } = options;
  const reported = valueErrors({ v: value }, schema, {
    ...rest,
    ...(existing === undefined ? {} : { existing: { v: existing } }),
  });
  return [...reported].map(({ field, reason, message }) => `${field}: ${reason.replace("FieldValue", "")}: ${message}`);
}

const type = (expected: string, found: string): string =>
  `v: TypeInvalid: Invalid value: "${found}": v in body must be of type ${expected}: "${found}"`;
const general = (text: string): string => `<nil>: Invalid: Invalid value: "": ${text}`;
const invalid = (shown: string, what: string): string =>
  `v: Invalid: Invalid value: ${shown}: v in body should ${what}`;

const INT_OR_STRING = { "x-kubernetes-int-or-string": true };
const NAME_OR_ID = { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } };

/** All messages below are kube-apiserver's own, taken from v1.36.4. */
describe("validating a value", () => {
  test.each<[JsonObject, unknown, string[]]>([
    [{ type: "string" }, 5, [type("string", "integer")]],
    [{ type: "string" }, null, [type("string", "null")]],
    [{ type: "string", nullable: true }, null, []],
    [{ type: "array", items: { type: "string" } }, {}, [type("array", "object")]],
    [{ type: "number" }, 5, []],
    [INT_OR_STRING, "x", []],
    [INT_OR_STRING, true, [type("integer,string", "boolean")]],
    [
      { type: "integer" },
      1.5,
      [type("integer", "number"), general("Checked value must be of type integer (default format) in v")],
    ],
    [{ type: "integer" }, 1000000000.0000001, [general("Checked value must be of type integer (default format) in v")]],
    [
      { type: "string", format: "date" },
      5,
      ['v: TypeInvalid: Invalid value: "int64": v in body must be of type date: "int64"'],
    ],
    [{ type: "string", format: "date" }, [], []],
    [
      { type: "string", format: "date" },
      "x",
      ['v: TypeInvalid: Invalid value: "x": v in body must be of type date: "x"'],
    ],
    [{ type: "string", format: "unheard-of" }, "x", []],
  ])("reports a wrong type: schema %j, value %j", (source, value, expected) => {
    expect(errors(source, value)).toEqual(expected);
  });

  test.each<[JsonObject, unknown, string[]]>([
    [
      { type: "integer", format: "int32" },
      3e9,
      [general("Checked value must be of type integer with format int32 in v")],
    ],
    [
      { type: "number", format: "float" },
      1e39,
      [general("Checked value must be of type number with format float in v")],
    ],
    [{ type: "integer", minimum: 2 }, 1, [invalid("1", "be greater than or equal to 2")]],
    [{ type: "integer", minimum: 2, exclusiveMinimum: true }, 2, [invalid("2", "be greater than 2")]],
    [{ type: "integer", maximum: 2 }, 3, [invalid("3", "be less than or equal to 2")]],
    [{ type: "number", maximum: 2.5, exclusiveMaximum: true }, 2.5, [invalid("2.5", "be less than 2.5")]],
    [{ type: "number", maximum: 1.5 }, 2, [invalid("2", "be less than or equal to 1")]],
    [{ type: "number", minimum: 1e6 }, 0.00001, [invalid("1e-05", "be greater than or equal to 1e+06")]],
    [
      { type: "integer", maximum: 2.5 },
      1,
      [general("Maximum boundary value must be of type integer (default format) in v")],
    ],
    [{ type: "integer", multipleOf: 3 }, 7, [invalid("7", "be a multiple of 3")]],
    [{ type: "number", multipleOf: 0.5 }, 1.3, [invalid("1.3", "be a multiple of 0.5")]],
    [
      { ...INT_OR_STRING, multipleOf: 0.5 },
      1,
      ["v: Invalid: Invalid value: 0: factor MultipleOf declared for v must be positive: 0"],
    ],
  ])("reports an invalid number: schema %j, value %j", (source, value, expected) => {
    expect(errors(source, value)).toEqual(expected);
  });

  test.each<[JsonObject, unknown, string[]]>([
    [{ type: "string", minLength: 2 }, "😀", [invalid('"😀"', "be at least 2 chars long")]],
    [{ type: "string", maxLength: 2 }, "😀😀", []],
    [{ type: "string", maxLength: 1 }, "ab", ["v: TooLong: Too long: may not be more than 1 byte"]],
    [{ type: "string", maxLength: 2, pattern: "^a" }, "xyz", ["v: TooLong: Too long: may not be more than 2 bytes"]],
    [{ type: "string", pattern: "^[a-z]+$" }, "a\n", [invalid('"a\\n"', "match '^[a-z]+$'")]],
    [
      { type: "string", enum: ["a", 'b"'] },
      "x",
      ['v: NotSupported: Unsupported value: "x": supported values: "a", "b\\""'],
    ],
    [
      { type: "string", nullable: true, enum: ["a", null] },
      null,
      ['v: NotSupported: Unsupported value: null: supported values: "a", "null"'],
    ],
    [{ type: "number", enum: [1, 2.5] }, 1.5, []],
    [{ ...INT_OR_STRING, enum: ["A"] }, 65, []],
    [{ enum: [{ a: 1, b: ["<"] }] }, { b: ["<"], a: 1 }, []],
    [
      { enum: [{ a: 1 }] },
      { b: "<", a: 2 },
      ['v: NotSupported: Unsupported value: {"a":2,"b":"\\u003c"}: supported values: "{\\"a\\":1}"'],
    ],
  ])("reports an invalid string or enum value: schema %j, value %j", (source, value, expected) => {
    expect(errors(source, value)).toEqual(expected);
  });

  test.each<[JsonObject, unknown, string[]]>([
    [{ type: "array", minItems: 1 }, [], [invalid("0", "have at least 1 items")]],
    [{ type: "array", maxItems: 1 }, [1, 2], ["v: TooMany: Too many: 2: must have at most 1 item"]],
    [
      { type: "array", uniqueItems: true },
      [{ a: 1 }, { a: 1 }],
      ['v: Invalid: Invalid value: "": v in body shouldn\'t contain duplicates'],
    ],
    [{ type: "object", minProperties: 1 }, {}, [invalid("0", "have at least 1 properties")]],
    [{ type: "object", maxProperties: 0 }, { a: 1 }, ["v: TooMany: Too many: 1: must have at most 0 items"]],
    [{ type: "object", required: ["a"] }, {}, ["v.a: Required: Required value"]],
    [
      { type: "object", additionalProperties: false },
      { a: 1 },
      ['v: Invalid: Invalid value: "a": v.a in body is a forbidden property'],
    ],
    [
      { type: "array", items: { type: "object", additionalProperties: { type: "string" } } },
      [{}, { "a.b": 1 }],
      ['v[1].a.b: TypeInvalid: Invalid value: "integer": v[1].a.b in body must be of type string: "integer"'],
    ],
  ])("reports an invalid list or object: schema %j, value %j", (source, value, expected) => {
    expect(errors(source, value)).toEqual(expected);
  });
});

describe("validating allOf, anyOf, oneOf and not", () => {
  const either = [{ required: ["a"] }, { required: ["b"] }];
  const required = (name: string): string => `v.${name}: Required: Required value`;

  test.each<[JsonObject, unknown, string[]]>([
    [{ ...NAME_OR_ID, oneOf: either }, { a: "x" }, []],
    [
      { ...NAME_OR_ID, oneOf: either },
      {},
      [general('"v" must validate one and only one schema (oneOf). Found none valid'), required("a")],
    ],
    [
      { ...NAME_OR_ID, oneOf: either },
      { a: "", b: "" },
      [general('"v" must validate one and only one schema (oneOf). Found 2 valid alternatives')],
    ],
    [{ ...NAME_OR_ID, anyOf: either }, {}, [general('"v" must validate at least one schema (anyOf)'), required("a")]],
    [
      { ...NAME_OR_ID, allOf: either },
      {},
      [required("a"), required("b"), general('"v" must validate all the schemas (allOf). None validated')],
    ],
    [
      { ...NAME_OR_ID, allOf: either },
      { a: "" },
      [required("b"), general('"v" must validate all the schemas (allOf)')],
    ],
    [{ ...NAME_OR_ID, not: either[0] }, { a: "" }, [general('"v" must not validate the schema (not)')]],
    [{ ...INT_OR_STRING, anyOf: [{ type: "integer" }, { type: "string" }] }, "x", []],
  ])("returns the expected errors: schema %j, value %j", (source, value, expected) => {
    expect(errors(source, value)).toEqual(expected);
  });

  test("reports the errors of the alternative that matches best", () => {
    const source = {
      ...NAME_OR_ID,
      anyOf: [{ properties: { a: { enum: ["p"] } } }, { properties: { a: { enum: ["q"] }, b: { enum: ["r"] } } }],
    };
    expect(errors(source, { a: "q", b: "x" })).toEqual([
      general('"v" must validate at least one schema (anyOf)'),
      'v.b: NotSupported: Unsupported value: "x": supported values: "r"',
    ]);
  });

  test("reports equal messages once", () => {
    const source = { type: "string", maxLength: 1, allOf: [{ maxLength: 1 }] };
    expect(errors(source, "xx").filter((error) => error.includes("Too long"))).toHaveLength(1);
  });
});

describe("an update", () => {
  const item = { type: "object", properties: { n: { type: "string" }, v: { type: "integer", maximum: 5 } } };
  const map = { type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"], items: item };
  const atomic = { type: "array", items: item };
  const nested = { type: "object", properties: { a: { type: "string" }, c: { type: "string" } } };
  const below = { ...nested, allOf: [{ properties: { a: { maxLength: 2 } } }] };
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true, maxProperties: 1 };

  test.each<[string, JsonObject, [existing: unknown, value: unknown], number]>([
    ["may keep an invalid value", item, [{ v: 9 }, { v: 9, n: "new" }], 0],
    ["may not change an invalid value to another invalid one", item, [{ v: 9 }, { v: 8 }], 1],
    ["may not add an invalid value", item, [{ n: "x" }, { n: "x", v: 9 }], 1],
    ["may keep an invalid item with keys", map, [[{ n: "a", v: 9 }], [{ n: "b" }, { n: "a", v: 9 }]], 0],
    ["may not change the key of an invalid item", map, [[{ n: "a", v: 9 }], [{ n: "b", v: 9 }]], 1],
    [
      "may reorder items with keys",
      { ...map, maxItems: 1 },
      [
        [{ n: "a" }, { n: "b" }],
        [{ n: "b" }, { n: "a" }],
      ],
      0,
    ],
    ["may not keep an invalid item without keys in a changed list", atomic, [[{ v: 9 }], [{ v: 9 }, {}]], 1],
    ["may keep an unchanged invalid list", atomic, [[{ v: 9 }], [{ v: 9 }]], 0],
    ["may not keep a value that a junctor rejects in a changed object", below, [{ a: "xxx" }, { a: "xxx", c: "y" }], 2],
    ["may keep a value that a junctor rejects in an unchanged object", below, [{ a: "xxx" }, { a: "xxx" }], 0],
    [
      "may not keep an invalid object with unspecified fields",
      open,
      [
        { a: 1, b: 1 },
        { a: 1, b: 1 },
      ],
      1,
    ],
  ])("%s", (_, source, [existing, value], count) => {
    expect(errors(source, value, { existing })).toHaveLength(count);
  });

  test("may not keep an invalid apiVersion or kind", () => {
    const schema = parseStructural({ type: "object", properties: { kind: { type: "string", maxLength: 1 } } });
    expect([...valueErrors({ kind: "xx", metadata: {} }, schema, { existing: { kind: "xx" } })]).toHaveLength(1);
  });
});

describe("validation in earlier releases", () => {
  test("does not check the range of integer and number formats before 1.36", () => {
    expect(errors({ type: "integer", format: "int32" }, 3e9, { gates: gatesOf("1.35") })).toEqual([]);
  });

  test("ignores the formats for Kubernetes names before 1.34", () => {
    expect(errors({ type: "string", format: "k8s-short-name" }, "A", { gates: gatesOf("1.33") })).toEqual([]);
    expect(errors({ type: "string", format: "k8s-short-name" }, "A", { gates: gatesOf("1.34") })).toHaveLength(1);
  });

  test("rejects unchanged invalid values before 1.30, because these releases have no ratcheting", () => {
    expect(errors({ type: "string", maxLength: 1 }, "xx", { existing: "xx", gates: gatesOf("1.29") })).toHaveLength(1);
  });
});

test("errors of a field such as status are reported with the path of that field", () => {
  const schema = parseStructural({ type: "object", required: ["a"], maxProperties: 0 });
  const reported = [...valueErrors({ b: 1 }, schema, { field: "status" })];
  expect(reported.map(({ field }) => field)).toEqual(["status", "status.a"]);
});

test("at most a hundred errors are reported", () => {
  const value = Array.from({ length: 10_000 }, () => 1);
  expect(errors({ type: "array", items: { type: "string" } }, value)).toHaveLength(100);
});

test("a pattern that is not a valid regular expression rejects every value", () => {
  expect(errors({ type: "string", pattern: "(" }, "x")[0]).toMatch(/should match '\(, but pattern is invalid: /);
});

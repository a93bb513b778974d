/** Tests the errors that CEL rules report for objects. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { parseStructural } from "../parse.ts";
import { compileRules } from "./compile.ts";
import { type RuleInput, schemaRuleErrors } from "./evaluate.ts";

function withRules(schema: JsonObject, ...rules: (string | JsonObject)[]): JsonObject {
  const validations = rules.map((rule) => (typeof rule === "string" ? { rule } : rule));
  return { ...schema, "x-kubernetes-validations": validations };
}

function object(properties: JsonObject): JsonObject {
  return { type: "object", properties };
}

const PAIR = object({ a: { type: "integer" }, b: { type: "string" } });

function errorsOf(schema: JsonObject, value: unknown, more: Partial<RuleInput> = {}): string[] {
  const rules = compileRules(parseStructural(schema), false);
  if (rules === undefined) throw new Error("no rules");
  const input: RuleInput = { rules, object: value, existing: undefined, path: "root", ...more };
  return [...schemaRuleErrors(input)].map(({ field, message }) => `${field}: ${message}`);
}

test("a schema without rules compiles to undefined", () => {
  expect(compileRules(parseStructural(PAIR))).toBeUndefined();
});

test.each<[string, JsonObject | string, string]>([
  ["the rule", "self.a > 1", "root: Invalid value: failed rule: self.a > 1"],
  ["its message", { rule: "self.a > 1", message: " too small " }, "root: Invalid value: too small"],
  [
    "its reason and path",
    { rule: "self.a > 1", message: "no", reason: "FieldValueForbidden", fieldPath: ".a" },
    "root.a: Forbidden: no",
  ],
  [
    "the reason FieldValueRequired",
    { rule: "self.a > 1", reason: "FieldValueRequired", fieldPath: "['b']" },
    "root.b: Required value: failed rule: self.a > 1",
  ],
  ["the reason FieldValueDuplicate", { rule: "self.a > 1", reason: "FieldValueDuplicate" }, "root: Duplicate value"],
  [
    "the result of its messageExpression",
    { rule: "self.a > 1", messageExpression: "'is ' + string(self.a)" },
    "root: Invalid value: is 0",
  ],
  [
    "its message if the messageExpression is empty",
    { rule: "self.a > 1", message: "m", messageExpression: "''" },
    "root: Invalid value: m",
  ],
  [
    "its message if the messageExpression fails",
    { rule: "self.a > 1", message: "m", messageExpression: "self.b" },
    "root: Invalid value: m",
  ],
  ["a missing key", "self.b == ''", "root: Invalid value: \"object\": no such key: b evaluating rule: self.b == ''"],
  [
    "a runtime error",
    "1 / self.a > 1",
    'root: Invalid value: "object": division by zero evaluating rule: 1 / self.a > 1',
  ],
])("a failed rule reports %s", (_what, rule, error) => {
  expect(errorsOf(withRules(PAIR, rule), { a: 0 })).toEqual([error]);
});

test("a failed rule reports the value, unless the value is an object or a list", () => {
  const schema = object({
    i: withRules({ type: "integer" }, "self > 5"),
    s: withRules({ type: "string" }, "self == 'z'"),
    l: withRules({ type: "array", items: { type: "integer" } }, "self.size() > 3"),
  });
  expect(errorsOf(schema, { i: 1, s: 'a"b', l: [1] })).toEqual([
    "root.i: Invalid value: 1: failed rule: self > 5",
    String.raw`root.s: Invalid value: "a\"b": failed rule: self == 'z'`,
    "root.l: Invalid value: failed rule: self.size() > 3",
  ]);
});

describe("transition rules", () => {
  const schema = withRules(PAIR, "self.a >= oldSelf.a");
  const optional = withRules(PAIR, { rule: "oldSelf.hasValue() || self.a == 5", optionalOldSelf: true });
  const MAP_LIST = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["b"],
    items: schema,
  };

  test.each<[string, JsonObject, readonly [value: unknown, existing: unknown], number]>([
    ["are not evaluated without an existing value", schema, [{ a: 1 }, undefined], 0],
    ["compare with the existing value", schema, [{ a: 1 }, { a: 2 }], 1],
    ["fail even when nothing changed", withRules(PAIR, "self.a > oldSelf.a"), [{ a: 1 }, { a: 1 }], 1],
    ["are evaluated without an existing value if oldSelf is optional", optional, [{ a: 1 }, undefined], 1],
    ["see the existing value if oldSelf is optional", optional, [{ a: 1 }, { a: 1 }], 0],
    [
      "correlate elements by their keys",
      MAP_LIST,
      [
        [
          { b: "x", a: 1 },
          { b: "y", a: 1 },
        ],
        [
          { b: "y", a: 2 },
          { b: "x", a: 0 },
        ],
      ],
      1,
    ],
    [
      "correlate values of maps",
      { type: "object", additionalProperties: schema },
      [{ k: { a: 1 } }, { k: { a: 2 } }],
      1,
    ],
  ])("%s", (_what, one, [value, existing], count) => {
    expect(errorsOf(one, value, { existing })).toHaveLength(count);
  });
});

describe("an invalid value that existed before is tolerated", () => {
  const schema = object({ x: withRules(PAIR, "self.a > 1"), y: { type: "integer" } });
  const LIST = object({ l: { type: "array", items: withRules(PAIR, "self.a > 1") } });
  const ALL_OF = object({
    x: { ...PAIR, allOf: [{ "x-kubernetes-validations": [{ rule: "self.a > 1" }] }] },
    z: withRules({ type: "integer" }, "true"),
  });

  test.each<[string, JsonObject, readonly [value: unknown, existing: unknown], number]>([
    [
      "if it is unchanged",
      schema,
      [
        { x: { a: 0 }, y: 1 },
        { x: { a: 0 }, y: 2 },
      ],
      0,
    ],
    ["but not if it has changed", schema, [{ x: { a: 0, b: "" } }, { x: { a: 0 } }], 1],
    ["in lists that are unchanged as a whole", LIST, [{ l: [{ a: 0 }] }, { l: [{ a: 0 }] }], 0],
    ["but not in lists that changed", LIST, [{ l: [{ a: 0 }, { a: 2 }] }, { l: [{ a: 0 }] }], 1],
    [
      "below allOf only if everything around it is unchanged",
      ALL_OF,
      [
        { x: { a: 0 }, z: 1 },
        { x: { a: 0 }, z: 2 },
      ],
      1,
    ],
  ])("%s", (_what, one, [value, existing], count) => {
    expect(errorsOf(one, value, { existing })).toHaveLength(count);
  });

  test("and is reported as a warning", () => {
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    expect(errorsOf(schema, { x: { a: 0 } }, { existing: { x: { a: 0 } }, warn })).toEqual([]);
    expect(warnings).toEqual(["root.x: Invalid value: failed rule: self.a > 1"]);
  });
});

test("a rule at the root of a resource can use apiVersion, kind and the name fields of metadata, but no other metadata", () => {
  const schema = withRules(object({}), "self.kind == 'B'", "self.metadata.name == 'b'", "self.metadata.labels == 'b'");
  const rules = compileRules(parseStructural(schema));
  if (rules === undefined) throw new Error("no rules");
  const resource = { apiVersion: "v1", kind: "A", metadata: { name: "a", labels: {} } };
  const errors = [...schemaRuleErrors({ rules, object: resource, existing: undefined, path: "" })];
  expect(errors.map(({ field, message }) => `${field}: ${message.split("\n")[0]}`)).toEqual([
    "<nil>: Invalid value: failed rule: self.kind == 'B'",
    "<nil>: Invalid value: failed rule: self.metadata.name == 'b'",
    `<nil>: Invalid value: "object": rule compile error: compilation failed: ERROR: <input>:1:14: undefined field 'labels'`,
  ]);
});

test("the total cost of all rules for one object is limited", () => {
  const schema = object({ l: { type: "array", items: withRules({ type: "integer" }, "self > 1") } });
  const l = Array.from({ length: 20 }, () => 5);
  expect(errorsOf(schema, { l }, { budget: { remaining: 21 } })).toEqual([
    'root.l[10]: Invalid value: "integer": validation failed due to running out of cost budget, no further validation rules will be run',
  ]);
});

test("the cost of a single evaluation is limited", () => {
  const rule = "self.all(x, self.all(y, y >= 0))";
  const schema = withRules({ type: "array", items: { type: "integer" } }, rule, "false");
  const value = Array.from({ length: 1000 }, (_none, index) => index);
  const why = "no further validation rules will be run due to call cost exceeds limit for rule";
  expect(errorsOf(schema, value)).toEqual([
    `root: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': ${why}: ${rule}`,
  ]);
});

test("values without a schema are compared completely, however deeply they nest", () => {
  const deep = (): unknown => {
    let value: unknown = 1;
    for (let depth = 0; depth < 10_000; depth++) value = { value };
    return value;
  };
  const schema = withRules(
    { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { a: { type: "integer" } } },
    "self == oldSelf",
  );
  expect(errorsOf(schema, { a: 1, z: deep() }, { existing: { a: 1, z: deep() } })).toEqual([]);
});

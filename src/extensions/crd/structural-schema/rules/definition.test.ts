/** Tests the validation of CEL rules when a CRD is written. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { parseStructural } from "../parse.ts";
import { compileRules } from "./compile.ts";
import { ruleDefinitionErrors } from "./definition.ts";

function errorsOf(spec: JsonObject, isUnchanged = false): string[] {
  const schema = parseStructural({ type: "object", properties: { spec } });
  return [...ruleDefinitionErrors({ schema, path: "schema", isUnchanged })].map(
    ({ field, message }) => `${field}: ${message}`,
  );
}

function ruled(schema: JsonObject, ...rules: JsonObject[]): JsonObject {
  return { ...schema, "x-kubernetes-validations": rules };
}

const OBJECT = {
  type: "object",
  properties: { a: { type: "integer" }, b: { type: "string" }, l: { type: "array", items: { type: "string" } } },
};
const AT = "schema.properties[spec].x-kubernetes-validations[0]";
const ADVICE =
  "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

test("a valid rule is accepted", () => {
  expect(errorsOf(ruled(OBJECT, { rule: "self.a > 1" }, { rule: "oldSelf.a == self.a" }))).toEqual([]);
});

function shown(rule: string, messageExpression = ""): string {
  return `{"Rule":"${rule}","Message":"","MessageExpression":"${messageExpression}","Reason":null,"FieldPath":"","OptionalOldSelf":null}`;
}

test.each<[string, JsonObject, string]>([
  [
    "does not compile",
    { rule: "self.x < 1" },
    `${AT}.rule: Invalid value: ${shown(String.raw`self.x \u003c 1`)}: compilation failed: ERROR: <input>:1:5: undefined field 'x'\n | self.x < 1\n | ....^`,
  ],
  [
    "is not a bool",
    { rule: "self.a" },
    `${AT}.rule: Invalid value: ${shown("self.a")}: cel expression must evaluate to a bool`,
  ],
  [
    "cannot be instantiated",
    { rule: "int('x') == 1" },
    `${AT}.rule: Invalid value: ${shown("int('x') == 1")}: program instantiation failed: type conversion error from 'string' to 'int'`,
  ],
  [
    "has a message that is not a string",
    { rule: "true", messageExpression: "1" },
    `${AT}.messageExpression: Invalid value: ${shown("true", "1")}: messageExpression must evaluate to a string`,
  ],
  [
    "sets optionalOldSelf without using oldSelf",
    { rule: "true", optionalOldSelf: true },
    `${AT}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`,
  ],
  [
    "is too expensive",
    { rule: "self.b.contains(self.b)" },
    `${AT}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${ADVICE}`,
  ],
])("a rule is rejected if it %s", (_what, rule, error) => {
  expect(errorsOf(ruled(OBJECT, rule))[0]).toBe(error);
});

test("a rule that uses oldSelf is rejected in a schema whose values cannot be correlated", () => {
  const spec = { type: "array", maxItems: 5, items: ruled(OBJECT, { rule: "oldSelf.a == 1" }) };
  expect(errorsOf(spec)).toEqual([
    'schema.properties[spec].items.x-kubernetes-validations[0].rule: Invalid value: "oldSelf.a == 1": oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[spec]',
  ]);
});

describe("the estimated cost", () => {
  const forty = Array.from({ length: 40 }, (_none, index) => ({ rule: `self > ${index}` }));
  const spec = { type: "array", items: ruled({ type: "integer" }, ...forty) };

  test("of all rules together is limited, and the most expensive rules are reported", () => {
    const errors = errorsOf(spec);
    expect(errors).toHaveLength(5);
    expect(errors.at(-1)).toBe(
      `schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1.258291x ${ADVICE}`,
    );
  });

  test("of a single rule is not limited if the schema is unchanged", () => {
    const expensive = ruled(OBJECT, { rule: "self.b.contains(self.b)" });
    expect(errorsOf(expensive, true).some((error) => error.includes("estimated rule cost exceeds"))).toBe(false);
  });

  const SIZED = {
    type: "object",
    properties: {
      s: { type: "string", maxLength: 10 },
      l: { type: "array", maxItems: 5, items: { type: "string", maxLength: 20 } },
      m: {
        type: "object",
        maxProperties: 7,
        additionalProperties: { type: "array", maxItems: 3, items: { type: "integer" } },
      },
      e: { type: "string", enum: ["a", "bcd"] },
    },
  };

  test.each([
    ["self.s.matches('a+b')", 7],
    ["self.l.all(x, x.startsWith('a'))", 28],
    ["self.m.all(k, self.m[k].all(v, v > 0))", 164],
    ["self.l.map(x, x + 'a').exists(y, y == self.e)", 159],
    ["self.s.replace('a', 'bbb').size() > 3", 12],
    ["self.s in self.l || self.e in ['a', 'b']", 23],
    ["self.?l[?0].orValue('') == self.s", 10],
  ])("of the rule %s is %i", (rule, cost) => {
    const compiled = compileRules(parseStructural(ruled(SIZED, { rule })), false)?.rules();
    expect(compiled?.[0]).toMatchObject({ error: undefined, costMax: cost });
  });
});

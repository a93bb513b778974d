import { expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { ExpressionCheck } from "./expression-errors.ts";
import { gatesOf } from "../../../catalog/release-gates.ts";
import type { ReleaseName } from "../../../catalog/release.ts";

const VARIABLES = { variables: [{}] };

function messages(errors: Iterable<{ message: string }>): string[] {
  return [...errors].map(({ message }) => message);
}

test.each([
  ["object.data.a == 'x' && oldObject == null && request.dryRun && namespaceObject.spec.finalizers.size() > 0", []],
  ["object.data.a", ["must evaluate to bool but got dyn"]],
  ["[1]", ["must evaluate to bool but got list(int)"]],
  ["{'a': 1}", ["must evaluate to bool but got map(string, int)"]],
  ["duration('1s')", ["must evaluate to bool but got google.protobuf.Duration"]],
  ["null", ["must evaluate to bool but got null_type"]],
  ["object.?a", ["must evaluate to bool but got optional_type(dyn)"]],
  ["request", ["must evaluate to bool but got kubernetes.AdmissionRequest"]],
  ["namespaceObject.metadata", ["must evaluate to bool but got kubernetes.NamespaceMetadata"]],
  ["authorizer.requestResource", ["must evaluate to bool but got kubernetes.authorization.ResourceCheck"]],
  [
    "request.object == null",
    ["compilation failed: ERROR: <input>:1:8: undefined field 'object'\n | request.object == null\n | .......^"],
  ],
])("the result type of the validation expression %s is checked", (source, wanted) => {
  const found = messages(new ExpressionCheck(gatesOf("1.36")).validationErrors(source, "f"));
  expect(found).toEqual(wanted.map((why) => `Invalid value: ${JSON.stringify(source)}: ${why}`));
});

test("a validation that always fails to evaluate is rejected with an internal error", () => {
  expect([...new ExpressionCheck(gatesOf("1.36")).validationErrors("int('x') == 1", "f")]).toEqual([
    {
      field: "f",
      reason: "InternalError",
      message: "Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
    },
  ]);
});

test("message expressions must return strings and cannot use the authorizer", () => {
  const check = new ExpressionCheck(gatesOf("1.36"));
  expect(messages(check.messageErrors("'x' + request.name", "f"))).toEqual([]);
  expect(messages(check.messageErrors("1", "f"))).toEqual(['Invalid value: "1": must evaluate to string but got int']);
  expect(messages(check.messageErrors("string(authorizer == null)", "f"))[0]).toContain(
    "undeclared reference to 'authorizer'",
  );
});

test("audit annotation expressions must return a string or null, and are trimmed before compilation", () => {
  const check = new ExpressionCheck(gatesOf("1.36"));
  expect(messages(check.annotationErrors("null", "f"))).toEqual([]);
  expect(messages(check.annotationErrors(" 1 ", "f"))).toEqual([
    'Invalid value: " 1 ": must evaluate to one of [string null_type] but got int',
  ]);
  expect(messages(check.annotationErrors("  foo", "f"))[0]).toContain("<input>:1:1: undeclared");
});

test("params is declared only if the policy has a paramKind", () => {
  const errors = (spec: JsonObject): string[] =>
    messages(new ExpressionCheck(gatesOf("1.36"), spec).conditionErrors("params == null", "f"));
  expect(errors({ paramKind: { apiVersion: "v1", kind: "ConfigMap" } })).toEqual([]);
  expect(errors({})[0]).toContain("undeclared reference to 'params'");
});

test("a variable is visible with its type to later expressions, but not to match conditions", () => {
  const check = new ExpressionCheck(gatesOf("1.36"), VARIABLES);
  expect(messages(check.variableErrors({ name: "a", source: "variables.b" }, "f"))[0]).toContain("undefined field 'b'");
  expect(messages(check.variableErrors({ name: "b", source: "['x']" }, "f"))).toEqual([]);
  expect(messages(check.variableErrors({ name: "c", source: "variables.b[0]" }, "f"))).toEqual([]);
  expect(messages(check.validationErrors("variables.c == 'x'", "f"))).toEqual([]);
  expect(messages(check.validationErrors("variables.b", "f"))[0]).toContain("but got list(string)");
  expect(messages(check.validationErrors("variables.c == 1", "f"))[0]).toContain("found no matching overload");
  expect(messages(check.conditionErrors("variables.c == 'x'", "f"))[0]).toContain(
    "undeclared reference to 'variables'",
  );
});

test("new expressions can use the features of the previous release, stored expressions those of this release", () => {
  const source = "semver('1.2.3').major() == 1";
  const errors = (release: ReleaseName, stored?: JsonObject): string[] => {
    const check = new ExpressionCheck(gatesOf(release));
    if (stored !== undefined) check.addStoredPolicy(stored);
    return messages(check.validationErrors(source, "f"));
  };
  expect(errors("1.34")).toEqual([]);
  expect(errors("1.33")[0]).toContain("undeclared reference to 'semver'");
  expect(errors("1.33", { spec: { validations: [{ expression: source }] } })).toEqual([]);
  expect(errors("1.33", { spec: { matchConditions: [{ expression: source }] } })).toHaveLength(1);
});

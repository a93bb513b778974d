import { expect, test } from "vitest";
import type { Authorizer } from "../../auth/authorize.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { attributes, pod } from "../../../../test/testing/access/admission/plugins/attributes.ts";
import { compileMatchConditions, type ConditionsOutcome } from "./match-conditions.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";

const POD = pod({ containers: [{ name: "c", image: "i" }] }, { labels: { app: "web" } });
const onlyGet: Authorizer = (user, { verb }) => ({ allowed: verb === "get" && user.name === "alice", reason: "" });

function outcome(expressions: readonly string[]): ConditionsOutcome {
  const conditions: JsonObject[] = expressions.map((expression, index) => ({ name: `c${index}`, expression }));
  return compileMatchConditions(conditions, { gates: gatesOf("1.36") }).evaluate(attributes({ object: POD }), {
    authorizer: onlyGet,
  });
}

test.each([
  "object.metadata.labels.app == 'web' && oldObject == null",
  "request.operation == 'CREATE' && request.name == 'p' && request.namespace == 'ns' && !request.dryRun",
  "request.kind.kind == 'Pod' && request.resource == request.requestResource && request.requestKind.version == 'v1'",
  "request.userInfo.username == 'alice' && 'system:authenticated' in request.userInfo.groups",
  "!has(request.userInfo.uid) && !has(request.userInfo.extra) && !has(request.subResource)",
  "request.options == null && dyn(request).uid == '' && dyn(request).object == null && size(dyn(request)) == 13",
  "authorizer.requestResource.check('get').allowed() && !authorizer.requestResource.check('create').allowed()",
  "!authorizer.serviceAccount('ns', 'robot').group('').resource('pods').check('get').allowed()",
  "namespaceObject == null",
])("the condition %s is true", (expression) => {
  expect(outcome([expression])).toEqual({ kind: "match" });
});

test("every write matches if there are no conditions", () => {
  expect(outcome([])).toEqual({ kind: "match" });
});

test("the first false condition is reported, even if other conditions have errors", () => {
  expect(outcome(["true", "false", "1 == 2"])).toEqual({ kind: "mismatch", name: "c1" });
  expect(outcome(["object.spec.zz == 1", "false"])).toEqual({ kind: "mismatch", name: "c1" });
});

test.each([
  ["one error", ["object.spec.zz == 1"], "expression 'object.spec.zz == 1' resulted in error: no such key: zz"],
  [
    "two errors",
    ["object.a == 1", "true", "object.b == 1"],
    "[expression 'object.a == 1' resulted in error: no such key: a, expression 'object.b == 1' resulted in error: no such key: b]",
  ],
  [
    "an expression that does not compile",
    ["params == null"],
    "compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params == null\n | ^",
  ],
  ["an expression that is not boolean", ["object.spec"], "compilation error: must evaluate to bool but got dyn"],
  [
    "reading the namespace of the object",
    ["namespaceObject.metadata.name == 'ns'"],
    "expression 'namespaceObject.metadata.name == 'ns'' resulted in error: no such key: metadata",
  ],
])("%s returns an error", (_what, expressions, message) => {
  expect(outcome(expressions)).toEqual({ kind: "error", message });
});

test("all conditions together have one cost limit", () => {
  const ask =
    "(authorizer.requestResource.check('get').allowed() || authorizer.requestResource.check('get').allowed())";
  const three = Array.from({ length: 7 }, () => ask);
  expect(outcome(three)).toEqual({ kind: "match" });
  expect(outcome([...three, "false", ask])).toEqual({
    kind: "error",
    message: "validation failed due to running out of cost budget, no further validation rules will be run",
  });
});

test("if the object was converted, request.kind is the converted kind, but request.resource is the requested resource", () => {
  const version = {
    groupVersion: { group: "x", version: "v2" },
    resource: "pads",
    kind: { group: "x", version: "v2", kind: "Pad" },
  };
  const expression =
    "object.a == 1 && request.kind.kind == 'Pad' && request.requestKind.kind == 'Pod' && request.resource.resource == 'pods'";
  const versioned = { version, object: { a: 1 }, existing: undefined };
  const conditions = compileMatchConditions([{ name: "c", expression }], { gates: gatesOf("1.36") });
  expect(conditions.evaluate(attributes({ object: POD }), { versioned })).toEqual({ kind: "match" });
});

test("a missing authorizer is an error only if a condition uses it", () => {
  const conditions = compileMatchConditions([{ name: "c", expression: "true" }], { gates: gatesOf("1.36") });
  expect(conditions.evaluate(attributes({ object: POD }), {})).toEqual({ kind: "match" });
  const asking = compileMatchConditions([{ name: "c", expression: "authorizer.path('/x').check('get').allowed()" }], {
    gates: gatesOf("1.36"),
  });
  expect(asking.evaluate(attributes({ object: POD }), {})).toEqual({
    kind: "error",
    message:
      "expression 'authorizer.path('/x').check('get').allowed()' resulted in error: no such attribute(s): authorizer",
  });
});

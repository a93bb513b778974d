import { expect, test } from "vitest";
import { celEnvironment } from "../environment.ts";
import { compile } from "../program.ts";
import { typeFromText } from "../types/type-text.ts";
import { EvalError, type Value } from "../values/value.ts";
import { AuthorizerValue, requestResourceCheck, type CheckAuthorization } from "./authorization.ts";
import { gatesOf } from "../../catalog/release-gates.ts";
import type { ReleaseName } from "../../catalog/release.ts";

const TYPES = new Map([
  ["authorizer", typeFromText("Authorizer")],
  ["authorizer.requestResource", typeFromText("ResourceCheck")],
]);

function run(expression: string, release: ReleaseName = "1.36"): { asked: unknown[]; value: Value; cost: number } {
  const asked: unknown[] = [];
  const ask: CheckAuthorization = (question, as) => {
    asked.push(as === undefined ? question : { ...question, as });
    return { isAllowed: question.verb === "get", reason: "because", error: question.verb === "fail" ? "broken" : "" };
  };
  const authorizer = new AuthorizerValue(ask);
  const own = { group: "apps", resource: "deployments", subresource: "scale", namespace: "ns", name: "web" };
  const compiled = compile(expression, celEnvironment(gatesOf(release)), TYPES);
  if ("issues" in compiled) throw new Error(compiled.issues);
  if ("planError" in compiled) throw new Error(compiled.planError);
  return { asked, ...compiled.evaluate([authorizer, requestResourceCheck(authorizer, own)], 1_000_000) };
}

const WHOLE = { kind: "resource", subresource: "", namespace: "", name: "", fieldSelector: "", labelSelector: "" };

test.each<[string, unknown]>([
  ["authorizer.path('/healthz').check('get')", { kind: "path", path: "/healthz", verb: "get" }],
  [
    "authorizer.group('apps').resource('deployments').check('get')",
    { ...WHOLE, group: "apps", resource: "deployments", verb: "get" },
  ],
  [
    "authorizer.group('').resource('pods').subresource('log').namespace('ns').name('p').check('get')",
    { ...WHOLE, group: "", resource: "pods", subresource: "log", namespace: "ns", name: "p", verb: "get" },
  ],
  [
    "authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c=d').check('list')",
    { ...WHOLE, group: "", resource: "pods", fieldSelector: "a=b", labelSelector: "c=d", verb: "list" },
  ],
  [
    "authorizer.serviceAccount('ns', 'robot').path('/x').check('get')",
    { kind: "path", path: "/x", verb: "get", as: { namespace: "ns", name: "robot" } },
  ],
  [
    "authorizer.requestResource.check('update')",
    {
      ...WHOLE,
      group: "apps",
      resource: "deployments",
      subresource: "scale",
      namespace: "ns",
      name: "web",
      verb: "update",
    },
  ],
])("%s sends the expected check to the authorizer", (expression, question) => {
  expect(run(`${expression}.allowed()`).asked).toEqual([question]);
});

test.each<[string, Value]>([
  ["authorizer.path('/x').check('get').allowed()", true],
  ["authorizer.path('/x').check('put').allowed()", false],
  ["authorizer.path('/x').check('get').reason()", "because"],
  ["authorizer.path('/x').check('get').errored()", false],
  ["authorizer.path('/x').check('fail').errored()", true],
  ["authorizer.path('/x').check('fail').error()", "broken"],
])("%s returns %s", (expression, value) => {
  expect(run(expression).value).toBe(value);
});

test.each([
  ["authorizer.path(' ').check('get').allowed()", "path must not be empty"],
  ["authorizer.group('').resource('').check('get').allowed()", "resource must not be empty"],
  ["authorizer.serviceAccount('Ns', 'robot').path('/x').check('get').allowed()", "Invalid service account namespace"],
  ["authorizer.serviceAccount('ns', 'Robot_').path('/x').check('get').allowed()", "Invalid service account name"],
  ["authorizer == authorizer", "no such overload"],
])("%s evaluates to an error", (expression, message) => {
  expect(run(expression).value).toEqual(new EvalError(message));
});

test("the cost limit of an expression allows two authorization checks, and not a third", () => {
  const ask = "authorizer.path('/x').check('get').allowed()";
  expect(run(`${ask} && ${ask}`)).toMatchObject({ value: true, cost: 700_006 });
  const three = run(`${ask} && ${ask} && ${ask}`);
  expect(three.value).toEqual(new EvalError("operation cancelled: actual cost limit exceeded"));
  expect(three.asked).toHaveLength(2);
});

test("the cost of a selector depends on its length", () => {
  const cost = (selector: string): number =>
    run(`authorizer.group('').resource('pods').labelSelector('${selector}').check('list').allowed()`).cost;
  expect(cost("app=example") - cost("")).toBe(2 + 6 * 50);
});

test("label selectors are undeclared before 1.31", () => {
  expect(() => run("authorizer.requestResource.labelSelector('a').check('get').allowed()", "1.30")).toThrow(
    "undeclared reference to 'labelSelector'",
  );
});

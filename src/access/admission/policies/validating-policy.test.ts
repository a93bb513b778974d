import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  validateWith,
  validateWithOne,
  binding,
  policy,
  policyServer,
} from "../../../../test/testing/access/admission/policies/policies.ts";

const DENIED = "ValidatingAdmissionPolicy 'x' with binding 'y' denied request: ";
const LIMITS = { apiVersion: "v1", kind: "ConfigMap" };

function check(expression: string, more: JsonObject = {}): JsonObject {
  return { validations: [{ expression, ...more }] };
}

/** The denial message without its prefix that names policy and binding; undefined if the write is admitted. */
async function denial(spec: JsonObject, bound: JsonObject = {}): Promise<string | undefined> {
  const { error } = await validateWithOne(spec, bound);
  const cause = error?.details?.causes?.[0]?.message;
  return cause?.startsWith(DENIED) === true ? cause.slice(DENIED.length) : cause;
}

test("a denial has kubernetes' message and details", async () => {
  const { error } = await validateWithOne(check("object.spec.nodeName == 'm'"));
  const message = `${DENIED}failed expression: object.spec.nodeName == 'm'`;
  expect(error?.toStatus()).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `pods "p" is forbidden: ${message}`,
    reason: "Invalid",
    details: { name: "p", kind: "pods", causes: [{ message }] },
    code: 422,
  });
});

test.each([
  ["Forbidden", 403],
  ["Invalid", 422],
  ["RequestEntityTooLarge", 413],
])("a denial with the reason %s has the code %s", async (reason, code) => {
  const { error } = await validateWithOne(check("false", { reason }));
  expect([error?.reason, error?.code]).toEqual([reason, code]);
});

describe("the denial message is", () => {
  test.each<[string, JsonObject, string]>([
    ["the expression", {}, "failed expression: false"],
    ["the message", { message: " no " }, "no"],
    ["the result of messageExpression", { message: "no", messageExpression: "' it is ' + request.name" }, "it is p"],
    ["the message, if messageExpression is empty", { message: "no", messageExpression: "' '" }, "no"],
    ["the message, if messageExpression has several lines", { message: "no", messageExpression: "'a\\nb'" }, "no"],
    ["the message, if messageExpression fails", { message: "no", messageExpression: "string(object.zz)" }, "no"],
    [
      "the message, if messageExpression is too long",
      { message: "no", messageExpression: "lists.range(600).map(i, '0123456789').join()" },
      "no",
    ],
  ])("%s", async (_what, more, message) => {
    expect(await denial(check("false", more))).toBe(message);
  });
});

test.each([
  ["a validation", "object.zz == 1", "expression 'object.zz == 1' resulted in error: no such key: zz"],
  ["an expression that does not compile", "object.zz", "compilation error: must evaluate to bool but got dyn"],
])("an error in %s denies the write unless the failurePolicy is Ignore", async (_what, expression, message) => {
  expect(await denial(check(expression))).toBe(message);
  expect(await denial({ failurePolicy: "Ignore", ...check(expression) })).toBeUndefined();
});

test("validations run only if the match conditions are true", async () => {
  const conditions = (expression: string): JsonObject => ({
    matchConditions: [{ name: "c", expression }],
    ...check("false"),
  });
  expect(await denial(conditions("object.metadata.name == 'p'"))).toBe("failed expression: false");
  expect(await denial(conditions("object.metadata.name == 'q'"))).toBeUndefined();
  const message = "expression 'object.zz == 1' resulted in error: no such key: zz";
  expect(await denial(conditions("object.zz == 1"))).toBe(message);
  expect(await denial({ failurePolicy: "Ignore", ...conditions("object.zz == 1") })).toBeUndefined();
});

describe("variables", () => {
  const variables = [
    { name: "a", expression: "object.spec.nodeName" },
    { name: "b", expression: "variables.a + '!'" },
    { name: "broken", expression: "object.zz" },
    { name: "uncompiled", expression: "1 +" },
    { name: "asked", expression: "authorizer.requestResource.check('get').allowed()" },
  ];
  test.each<[string, JsonObject, string | undefined]>([
    ["can be used by later variables", check("variables.b == 'n!'"), undefined],
    ["can be used by messages", check("false", { messageExpression: "'b is ' + string(variables.b)" }), "b is n!"],
    [
      "that cannot be evaluated cause errors in the expressions that use them",
      check("variables.broken == 1"),
      `expression 'variables.broken == 1' resulted in error: composited variable "broken" fails to evaluate: no such key: zz`,
    ],
    [
      "cannot use the authorizer in messages",
      check("!variables.asked", { messageExpression: "string(variables.asked)", message: "m" }),
      "m",
    ],
  ])("%s", async (_what, spec, message) => {
    expect(await denial({ variables, ...spec })).toBe(message);
  });

  test("that do not compile cause errors in the expressions that use them", async () => {
    expect(await denial({ variables, ...check("variables.uncompiled == 1") })).toMatch(
      /resulted in error: composited variable "uncompiled" fails to compile: compilation failed: ERROR: <input>:1:4: Syntax error/,
    );
  });
});

test("a policy has a cost limit for each binding", async () => {
  const ask2 = "(authorizer.requestResource.check('x').allowed() || authorizer.requestResource.check('get').allowed())";
  const validations = Array.from({ length: 15 }, () => ({ expression: ask2 }));
  const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";
  expect(await denial({ validations: validations.slice(1) })).toBeUndefined();
  expect(await denial({ validations })).toBe(outOfBudget);
  const messageExpression = "lists.range(1000).map(i, lists.range(100).map(j, 'x').join()).join()";
  const asking = validations.slice(1).map((one) => ({ ...one, messageExpression }));
  expect(await denial({ validations: asking })).toBe(`failed messageExpression: ${outOfBudget}`);
});

describe("a failed validation with the action", () => {
  const failing = { validations: [{ expression: "true" }, { expression: "false", message: "<no>" }] };

  test("Warn returns a warning to the client", async () => {
    const { error, warnings } = await validateWithOne(failing, { validationActions: ["Warn"] });
    expect(error).toBeUndefined();
    expect(warnings).toEqual(["Validation failed for ValidatingAdmissionPolicy 'x' with binding 'y': <no>"]);
  });

  test("Audit adds the first failure to the audit event", async () => {
    const both = { validations: [...failing.validations, { expression: "1 == 2" }] };
    const { error, annotations } = await validateWithOne(both, { validationActions: ["Audit"] });
    expect(error).toBeUndefined();
    expect(annotations).toEqual([
      [
        "validation.policy.admission.k8s.io/validation_failure",
        '[{"message":"\\u003cno\\u003e","policy":"x","binding":"y","expressionIndex":1,"validationActions":["Audit"]}]',
      ],
    ]);
  });
});

describe("audit annotations", () => {
  const annotate = (valueExpression: string): JsonObject => ({ auditAnnotations: [{ key: "k", valueExpression }] });

  test.each([
    ["have the value of their expression", "' ' + request.name + ' '", [["x/k", "p"]]],
    ["are omitted for null", "null", []],
    ["are omitted if empty", "' '", []],
    ["are truncated", "lists.range(2000).map(i, 'abcdef').join()", [["x/k", "abcdef".repeat(1707).slice(0, 10240)]]],
  ])("%s", async (_what, expression, wanted) => {
    const { error, annotations } = await validateWithOne(annotate(expression));
    expect(error).toBeUndefined();
    expect(annotations).toEqual(wanted);
  });

  test("deny the write if they cannot be evaluated, whatever the actions of the binding, unless the failurePolicy is Ignore", async () => {
    const message = "expression 'string(object.zz)' resulted in error: no such key: zz";
    expect(await denial(annotate("string(object.zz)"), { validationActions: ["Audit"] })).toBe(message);
    expect(await denial({ failurePolicy: "Ignore", ...annotate("string(object.zz)") })).toBeUndefined();
  });

  test("cannot use the authorizer", async () => {
    expect(await denial(annotate("authorizer.path('/x').check('get').reason()"))).toBe(
      "expression 'authorizer.path('/x').check('get').reason()' resulted in error: no such attribute(s): authorizer",
    );
  });

  test("have the joined values of all parameters", async () => {
    const { annotations } = await validateWithOne(
      { paramKind: LIMITS, ...annotate("string(params.data.max)") },
      { paramRef: { selector: {}, parameterNotFoundAction: "Deny" } },
    );
    expect(annotations).toEqual([["x/k", "1, 2"]]);
  });
});

describe("parameters", () => {
  const shown = { paramKind: LIMITS, ...check("false", { messageExpression: "'max ' + string(params.data.max)" }) };
  test.each<[string, JsonObject, JsonObject, string | undefined]>([
    ["are found by name", shown, { name: "two", parameterNotFoundAction: "Deny" }, "max 2"],
    [
      "are found in another namespace",
      shown,
      { name: "three", namespace: "other", parameterNotFoundAction: "Deny" },
      "max 3",
    ],
    [
      "that are missing admit the write if parameterNotFoundAction is Allow",
      shown,
      { name: "four", parameterNotFoundAction: "Allow" },
      undefined,
    ],
    [
      "that are missing deny the write if parameterNotFoundAction is Deny",
      shown,
      { name: "four", parameterNotFoundAction: "Deny" },
      "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
    ],
    [
      "that are cluster-scoped must not have paramRef.namespace",
      { ...shown, paramKind: { apiVersion: "v1", kind: "Namespace" } },
      { name: "ns", namespace: "ns", parameterNotFoundAction: "Deny" },
      "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
    ],
  ])("%s", async (_what, spec, paramRef, message) => {
    expect(await denial(spec, { paramRef })).toBe(message);
  });

  test("are null if the binding has no paramRef", async () => {
    expect(await denial({ paramKind: LIMITS, ...check("params != null") })).toBe("failed expression: params != null");
  });

  test("of a kind that is not served deny the write, unless the failurePolicy is Ignore", async () => {
    const spec = { paramKind: { apiVersion: "rules.example.com/v1", kind: "Limit" }, ...check("true") };
    const why = "failed to find resource referenced by paramKind: 'rules.example.com/v1, Kind=Limit'";
    expect(await denial(spec)).toBe(`ValidatingAdmissionPolicy 'x' denied request: failed to configure policy: ${why}`);
    expect(await denial({ failurePolicy: "Ignore", ...spec })).toBeUndefined();
  });

  test("that are namespaced need paramRef.namespace if the written object is cluster-scoped", async () => {
    const spec = { ...shown, matchConstraints: { resourceRules: [] } };
    const server = policyServer(
      [policy("x", spec)],
      [binding("y", "x", { paramRef: { name: "one", parameterNotFoundAction: "Deny" } })],
    );
    const { error } = await validateWith(server, { namespace: "" });
    expect(error?.message).toContain(
      "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
    );
  });
});

test("namespaceObject contains only the fields that expressions may read, and is null for cluster-scoped objects", async () => {
  const seen = "namespaceObject.metadata.labels.team == 'red' && namespaceObject.status.phase == 'Active'";
  expect(await denial(check(`${seen} && !('managedFields' in dyn(namespaceObject).metadata)`))).toBeUndefined();
  const { error } = await validateWithOne(check("namespaceObject == null"), {}, { namespace: "" });
  expect(error).toBeUndefined();
});

test("a write to a missing namespace returns 404", async () => {
  const { error } = await validateWithOne(check("true"), {}, { namespace: "gone" });
  expect(error?.message).toBe('namespaces "gone" not found');
});

test("in a delete, object is null and oldObject is the deleted object", async () => {
  const given = { operation: "DELETE", object: undefined, existing: { metadata: { name: "p" } } } as const;
  const { error } = await validateWithOne(check("object == null && oldObject.metadata.name == 'p'"), {}, given);
  expect(error).toBeUndefined();
});

test("a binding can restrict the objects that its policy applies to", async () => {
  const selecting = (app: string): JsonObject => ({ matchResources: { objectSelector: { matchLabels: { app } } } });
  expect(await denial(check("false"), selecting("web"))).toBe("failed expression: false");
  expect(await denial(check("false"), selecting("db"))).toBeUndefined();
});

test("a policy receives the object in the API version that its rules select", async () => {
  const kind = { group: "", version: "v2", kind: "Pod" };
  const version = { groupVersion: { group: "", version: "v2" }, resource: "pods", kind };
  const rules = [{ apiGroups: [""], apiVersions: ["v2"], operations: ["*"], resources: ["pods"], scope: "*" }];
  const versions = { served: [version], convert: () => Promise.resolve({ two: true }) };
  const spec = {
    matchConstraints: { matchPolicy: "Equivalent", resourceRules: rules },
    ...check("object.two && request.kind.version == 'v2' && request.requestKind.version == 'v1' && false"),
  };
  expect((await validateWithOne(spec, {}, { versions })).error?.message).toContain("failed expression");
  const exact = { ...spec, matchConstraints: { ...spec.matchConstraints, matchPolicy: "Exact" } };
  expect((await validateWithOne(exact, {}, { versions })).error).toBeUndefined();
});

test("policies do not apply to policies", async () => {
  const everything = { matchConstraints: {}, ...check("false") };
  const { plugin } = policyServer([policy("x", everything)], [binding("y", "x")]);
  const about = { groupVersion: { group: "admissionregistration.k8s.io", version: "v1" }, subresource: "" };
  expect(plugin.handles("DELETE", { ...about, resource: "validatingadmissionpolicies" })).toBe(false);
  expect(plugin.handles("DELETE", { ...about, resource: "validatingwebhookconfigurations" })).toBe(true);
});

import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  CONTEXT,
  defaulted,
  prepared,
  createErrorsOf,
  statusUpdateErrorsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import {
  MUTATING_ADMISSION_POLICY,
  MUTATING_ADMISSION_POLICY_BINDING,
  VALIDATING_ADMISSION_POLICY,
  VALIDATING_ADMISSION_POLICY_BINDING,
  withParameterDefault,
} from "./admission-policies.ts";

const RULE = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };

function policy(spec: JsonObject): JsonObject {
  return { metadata: { name: "p" }, spec: { matchConstraints: { resourceRules: [RULE] }, ...spec } };
}

test("a policy defaults to failurePolicy Fail and matchPolicy Equivalent, with empty selectors", () => {
  const spec = { validations: [{ expression: "true" }] };
  expect(prepared(VALIDATING_ADMISSION_POLICY, policy(spec))).toEqual({
    ...policy({
      ...spec,
      failurePolicy: "Fail",
      matchConstraints: {
        resourceRules: [{ ...RULE, scope: "*" }],
        matchPolicy: "Equivalent",
        namespaceSelector: {},
        objectSelector: {},
      },
    }),
    status: {},
  });
});

test.each<[string, JsonObject, readonly string[]]>([
  ["is accepted if it is valid", { validations: [{ expression: "true" }] }, []],
  [
    "needs match constraints and validations",
    { failurePolicy: "Maybe", matchConstraints: undefined },
    [
      'spec.failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"',
      "spec.matchConstraints: Required value",
      "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
      "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
    ],
  ],
  [
    "needs a valid paramKind",
    { validations: [{ expression: "true" }], paramKind: { apiVersion: "a/b/c", kind: "K K" } },
    [
      'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
      "spec.paramKind.kind: Invalid value: \"K K\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
  ],
  [
    "needs valid variable names and expressions",
    { validations: [{ expression: "true" }], variables: [{ name: "in", expression: "1" }, {}] },
    [
      'spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier',
      "spec.variables[1].name: Required value: name is not specified",
      "spec.variables[1].expression: Required value: expression is not specified",
    ],
  ],
  [
    "needs a valid message, message expression and reason",
    { validations: [{ message: "a\nb", messageExpression: " ", reason: "Because" }] },
    [
      "spec.validations[0].expression: Required value: expression is not specified",
      'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
      'spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
      'spec.validations[0].reason: Unsupported value: "Because": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ],
  ],
  [
    "rejects a duplicate audit annotation key",
    { auditAnnotations: [{ key: "k", valueExpression: "'v'" }, { key: "k" }] },
    [
      "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
      'spec.auditAnnotations[1].key: Duplicate value: "k"',
    ],
  ],
])("a validating policy %s", (_what, spec, sentences) => {
  expect(createErrorsOf(VALIDATING_ADMISSION_POLICY, policy(spec))).toEqual(sentences);
});

test.each<[string, JsonObject, readonly string[]]>([
  [
    "is accepted if it is valid",
    {
      mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/data"}]' } }],
      reinvocationPolicy: "Never",
    },
    [],
  ],
  [
    "needs mutations and rejects the operation DELETE",
    { matchConstraints: { resourceRules: [{ ...RULE, operations: ["DELETE"] }] } },
    [
      'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
      "spec.mutations: Required value: mutations must contain at least one item",
      "spec.reinvocationPolicy: Required value",
    ],
  ],
  [
    "needs exactly the expression that its patch type names",
    {
      mutations: [{ patchType: "JSONPatch", applyConfiguration: { expression: "" } }, { patchType: "Sed" }, {}],
      reinvocationPolicy: "Often",
    },
    [
      "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
      'spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch',
      'spec.mutations[1].patchType: Unsupported value: "Sed": supported values: "ApplyConfiguration", "JSONPatch"',
      "spec.mutations[2].patchType: Required value",
      'spec.reinvocationPolicy: Unsupported value: "Often": supported values: "IfNeeded", "Never"',
    ],
  ],
])("a mutating policy %s", (_what, spec, sentences) => {
  expect(createErrorsOf(MUTATING_ADMISSION_POLICY, policy(spec))).toEqual(sentences);
});

describe("a policy binding", () => {
  function binding(spec: JsonObject): JsonObject {
    return { metadata: { name: "b" }, spec: { policyName: "p", ...spec } };
  }

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", { validationActions: ["Deny"] }, []],
    [
      "needs a policy name and a validation action",
      { policyName: "" },
      [
        "spec.policyName: Required value",
        "spec.validationActions: Required value: at least one validation action is required",
      ],
    ],
    [
      "rejects duplicate, unknown and contradictory validation actions",
      { validationActions: ["Deny", "Warn", "Deny", "Shout"] },
      [
        'spec.validationActions[2]: Duplicate value: "Deny"',
        'spec.validationActions[3]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"',
        'spec.validationActions: Invalid value: ["Deny","Warn","Deny","Shout"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
      ],
    ],
    [
      "rejects a paramRef with both a name and a selector",
      { validationActions: ["Deny"], paramRef: { name: "a/b", selector: {}, parameterNotFoundAction: "Skip" } },
      [
        "spec.paramRef.name: Invalid value: \"a/b\": may not contain '/'",
        "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
        "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
        'spec.paramRef.parameterNotFoundAction: Unsupported value: "Skip": supported values: "Deny", "Allow"',
      ],
    ],
  ])("%s", (_what, spec, sentences) => {
    expect(createErrorsOf(VALIDATING_ADMISSION_POLICY_BINDING, binding(spec))).toEqual(sentences);
  });

  test("for a mutating policy rejects the operation DELETE", () => {
    const matchResources = { resourceRules: [{ ...RULE, operations: ["DELETE"] }] };
    expect(createErrorsOf(MUTATING_ADMISSION_POLICY_BINDING, binding({ matchResources }))).toEqual([
      'spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    ]);
  });

  test("in v1alpha1 defaults parameterNotFoundAction to Deny", () => {
    const alpha = withParameterDefault(VALIDATING_ADMISSION_POLICY_BINDING);
    expect(defaulted(alpha, binding({ paramRef: { name: "a" } }), CONTEXT)["spec"]).toMatchObject({
      paramRef: { name: "a", parameterNotFoundAction: "Deny" },
    });
  });
});

test("the status of a policy is rejected if an expression warning or a condition is incomplete", () => {
  const status = { typeChecking: { expressionWarnings: [{}] }, conditions: [{ type: "Ready", status: "Yes" }] };
  expect(statusUpdateErrorsOf(VALIDATING_ADMISSION_POLICY, policy({}), { ...policy({}), status })).toEqual([
    "status.typeChecking.expressionWarnings[0].warning: Required value",
    "status.typeChecking.expressionWarnings[0].fieldRef: Required value",
    'status.conditions[0].status: Unsupported value: "Yes": supported values: "False", "True", "Unknown"',
    "status.conditions[0].lastTransitionTime: Required value",
    "status.conditions[0].reason: Required value",
  ]);
});

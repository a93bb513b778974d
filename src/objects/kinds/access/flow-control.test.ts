import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  defaulted,
  prepared,
  createErrorsOf,
  statusUpdateErrorsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import {
  ASSURED_PRIORITY_LEVEL_CONFIGURATION,
  BETA_PRIORITY_LEVEL_CONFIGURATION,
  FLOW_SCHEMA,
  PRIORITY_LEVEL_CONFIGURATION,
} from "./flow-control.ts";

const SUBJECT = { kind: "User", user: { name: "*" } };
const NON_RESOURCE = { verbs: ["*"], nonResourceURLs: ["*"] };

function schema(spec: JsonObject, name = "s"): JsonObject {
  return { metadata: { name }, spec: { priorityLevelConfiguration: { name: "l" }, ...spec } };
}

describe("a flow schema", () => {
  test("defaults its matchingPrecedence to 1000", () => {
    expect(prepared(FLOW_SCHEMA, schema({}))).toEqual({ ...schema({ matchingPrecedence: 1000 }), status: {} });
  });

  test("has null for every list that is absent from its rules", () => {
    const rules = [{ resourceRules: [{ verbs: ["get"] }], nonResourceRules: [{}] }];
    expect(prepared(FLOW_SCHEMA, schema({ rules }))["spec"]).toMatchObject({
      rules: [
        {
          subjects: null,
          resourceRules: [{ verbs: ["get"], apiGroups: null, resources: null, namespaces: null }],
          nonResourceRules: [{ verbs: null, nonResourceURLs: null }],
        },
      ],
    });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", { rules: [{ subjects: [SUBJECT], nonResourceRules: [NON_RESOURCE] }] }, []],
    [
      "needs a priority level, and matchingPrecedence 1 is reserved for exempt",
      { matchingPrecedence: 1, distinguisherMethod: { type: "ByName" }, priorityLevelConfiguration: {} },
      [
        "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
        'spec.distinguisherMethod.type: Unsupported value: {"Type":"ByName"}: supported values: "ByNamespace", "ByUser"',
        "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
      ],
    ],
    [
      "needs subjects and resource or non-resource rules in every rule",
      { rules: [{}] },
      [
        "spec.rules[0].subjects: Required value: subjects must contain at least one value",
        "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
      ],
    ],
    [
      "needs, in a subject, only the field that the kind of the subject names",
      {
        rules: [
          {
            subjects: [
              { kind: "User", group: { name: "g" } },
              { kind: "ServiceAccount", serviceAccount: {} },
              { kind: "X" },
            ],
            nonResourceRules: [NON_RESOURCE],
          },
        ],
      },
      [
        "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
        "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
        "spec.rules[0].subjects[1].serviceAccount.name: Required value",
        "spec.rules[0].subjects[1].serviceAccount.namespace: Required value: must specify namespace for service account",
        'spec.rules[0].subjects[2].kind: Unsupported value: "X": supported values: "Group", "ServiceAccount", "User"',
      ],
    ],
    [
      "needs valid verbs, groups, resources, namespaces and URLs",
      {
        rules: [
          {
            subjects: [SUBJECT],
            resourceRules: [{ verbs: ["do"], resources: ["*", "a"] }],
            nonResourceRules: [{ nonResourceURLs: ["a", "/a*", "/a/*", "//", ""] }],
          },
        ],
      },
      [
        'spec.rules[0].resourceRules[0].verbs: Unsupported value: ["do"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
        "spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group",
        'spec.rules[0].resourceRules[0].resources: Invalid value: ["*","a"]: if \'*\' is present, must not specify other resources',
        "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace",
        "spec.rules[0].nonResourceRules[0].verbs: Required value: verbs must contain at least one value",
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "a": must start with slash',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/a*": wildcard can only do suffix matching',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[3]: Invalid value: "//": must not contain double slash',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[4]: Invalid value: "": must not be empty',
      ],
    ],
  ])("%s", (_what, spec, sentences) => {
    expect(createErrorsOf(FLOW_SCHEMA, schema(spec))).toEqual(sentences);
  });

  test("named exempt is rejected if its spec differs from that of the mandatory flow schema", () => {
    const spec = { priorityLevelConfiguration: { name: "exempt" }, matchingPrecedence: 1 };
    expect(createErrorsOf(FLOW_SCHEMA, schema(spec, "exempt"))).toEqual([
      'spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"exempt"},"MatchingPrecedence":1,"DistinguisherMethod":null,"Rules":null}: spec of \'exempt\' must equal the fixed value',
    ]);
  });

  test("must have conditions of distinct types", () => {
    const status = { conditions: [{ type: "Dangling" }, { type: "Dangling" }, {}] };
    expect(statusUpdateErrorsOf(FLOW_SCHEMA, schema({}), { ...schema({}), status })).toEqual([
      'status.conditions[1].type: Duplicate value: "Dangling"',
      "status.conditions[2].type: Required value",
    ]);
  });
});

describe("a priority level configuration", () => {
  function level(spec: JsonObject, name = "l"): JsonObject {
    return { metadata: { name }, spec };
  }
  const limited = (more: JsonObject): JsonObject =>
    level({ type: "Limited", limited: { limitResponse: { type: "Reject" }, ...more } });

  test("defaults its shares and queues", () => {
    const queued = limited({ limitResponse: { type: "Queue", queuing: {} } });
    expect(defaulted(PRIORITY_LEVEL_CONFIGURATION, queued)["spec"]).toEqual({
      type: "Limited",
      limited: {
        nominalConcurrencyShares: 30,
        lendablePercent: 0,
        limitResponse: { type: "Queue", queuing: { handSize: 8, queues: 64, queueLengthLimit: 50 } },
      },
    });
  });

  test.each([
    [PRIORITY_LEVEL_CONFIGURATION, "nominalConcurrencyShares", 0],
    [BETA_PRIORITY_LEVEL_CONFIGURATION, "nominalConcurrencyShares", 30],
    [ASSURED_PRIORITY_LEVEL_CONFIGURATION, "assuredConcurrencyShares", 30],
  ])("in v1 keeps zero shares, in beta versions replaces them with the default (%#)", (kind, field, shares) => {
    expect(defaulted(kind, limited({ [field]: 0 }))["spec"]).toMatchObject({ limited: { [field]: shares } });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", limited({}), []],
    ["needs a type", level({}), ["spec.type: Required value"]],
    [
      "can be Exempt only if it is named exempt",
      level({ type: "Exempt", limited: {} }),
      [
        "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
        "spec.limited: Forbidden: must be nil if the type is not Limited",
      ],
    ],
    [
      "of type Limited needs the field limited",
      level({ type: "Limited", exempt: {} }),
      [
        "spec.exempt: Forbidden: must be nil if the type is Limited",
        "spec.limited: Required value: must not be empty when type is Limited",
      ],
    ],
    [
      "needs shares and percentages in range",
      limited({ nominalConcurrencyShares: -1, lendablePercent: 101, borrowingLimitPercent: -1 }),
      [
        "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
        "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
        "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
      ],
    ],
    [
      "needs queues and a hand size within 60 bits of entropy",
      limited({ limitResponse: { type: "Queue", queuing: { queues: 1000, handSize: 10, queueLengthLimit: -1 } } }),
      [
        "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive",
        "spec.limited.limitResponse.queuing.handSize: Invalid value: 10: required entropy bits of deckSize 1000 and handSize 10 should not be greater than 60",
      ],
    ],
    [
      "named catch-all cannot differ from the mandatory one",
      { ...limited({}), metadata: { name: "catch-all" } },
      [
        'spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":30,"LimitResponse":{"Type":"Reject","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":null}: spec of \'catch-all\' must equal the fixed value',
      ],
    ],
  ])("%s", (_what, object, sentences) => {
    expect(createErrorsOf(PRIORITY_LEVEL_CONFIGURATION, object)).toEqual(sentences);
  });

  test("named exempt may have other shares than the mandatory one", () => {
    const exempt = level({ type: "Exempt", exempt: { nominalConcurrencyShares: 10 } }, "exempt");
    expect(createErrorsOf(PRIORITY_LEVEL_CONFIGURATION, exempt)).toEqual([]);
  });
});

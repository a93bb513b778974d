import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { commonIndex, countIndexes } from "./job-indexes.ts";
import { podFailurePolicyErrors, successPolicyErrors } from "./job-policies.ts";
import { sentences } from "../../../../test/testing/objects/kinds/workloads/objects.ts";

const template = { spec: { containers: [{ name: "c" }] } };

describe("a rule of a pod failure policy", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    [
      "is accepted if it is valid",
      { action: "FailJob", onExitCodes: { containerName: "c", operator: "In", values: [1, 2] } },
      [],
    ],
    [
      "needs an action and a condition",
      {},
      [
        'f.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
        "f.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
      ],
    ],
    [
      "needs ordered, unique and non-zero exit codes",
      { action: "FailIndex", onExitCodes: { containerName: "x", operator: "In", values: [2, 0, 0] } },
      [
        'f.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
        'f.rules[0].onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template',
        "f.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
        "f.rules[0].onExitCodes.values[2]: Invalid value: 0: must not be 0 for the In operator",
        "f.rules[0].onExitCodes.values[2]: Duplicate value: 0",
        "f.rules[0].onExitCodes.values: Invalid value: [2,0,0]: must be ordered",
      ],
    ],
    [
      "rejects both exit codes and pod conditions",
      {
        action: "Odd",
        onExitCodes: { operator: "Is" },
        onPodConditions: [{ type: "T", status: "Maybe" }],
      },
      [
        'f.rules[0].action: Unsupported value: "Odd": supported values: "Count", "FailIndex", "FailJob", "Ignore"',
        'f.rules[0].onExitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"',
        "f.rules[0].onExitCodes.values: Invalid value: null: at least one value is required",
        'f.rules[0].onPodConditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
        "f.rules[0]: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported",
      ],
    ],
  ])("%s", (_what, rule, errors) => {
    expect(sentences(podFailurePolicyErrors({ template, podFailurePolicy: { rules: [rule] } }, "f"))).toEqual(errors);
  });
});

describe("a success policy", () => {
  test.each<[string, JsonObject[], readonly string[]]>([
    ["is accepted if it is valid", [{ succeededIndexes: "0-1", succeededCount: 2 }], []],
    [
      "needs rules",
      [],
      ["s.rules: Required value: at least one rules must be specified when the successPolicy is specified"],
    ],
    [
      "rejects rules that cannot be met",
      [{ succeededCount: 4 }, { succeededIndexes: "0", succeededCount: 2 }, {}],
      [
        "s.rules[0].succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of specified completions)",
        "s.rules[1].succeededCount: Invalid value: 2: must be less than or equal to 1 (the number of indexes in the specified succeededIndexes field)",
        "s.rules[2]: Required value: at least one of succeededCount or succeededIndexes must be specified",
      ],
    ],
  ])("%s", (_what, rules, errors) => {
    expect(sentences(successPolicyErrors({ completions: 3, successPolicy: { rules } }, "s"))).toEqual(errors);
  });
});

describe("the indexes", () => {
  test.each<[string, number | string]>([
    ["", 0],
    ["0,2-4", 4],
    ["5", 'too large index: "5"'],
    [
      "1-2-3",
      "the fragment \"1-2-3\" violates the requirement that an index interval can have at most two parts separated by '-'",
    ],
    ["a", 'cannot convert string to integer for index: "a"'],
    ["2,1", "non-increasing order, previous: 2, current: 1"],
    ["3-3", "non-increasing order, previous: 3, current: 3"],
  ])("%j are counted or rejected", (text, counted) => {
    expect(countIndexes(text, 5)).toBe(counted);
  });

  test.each<[string, string, number | undefined]>([
    ["0-2,4", "3", undefined],
    ["0-2,4", "1,3", 1],
    ["0,x,3-4", "2,4", 4],
  ])("%s and %s have %s in common", (left, right, common) => {
    expect(commonIndex(left, right, 5)).toBe(common);
  });
});

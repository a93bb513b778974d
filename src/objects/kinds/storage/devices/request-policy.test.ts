import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { requestPolicyErrors } from "./request-policy.ts";

const errorsOf = (policy: JsonObject, total: string): string[] =>
  [...requestPolicyErrors(policy, "p", total)].map(({ field, message }) => `${field}: ${message}`);

describe("the request policy of a capacity", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["accepts a default alone", { default: "1" }, []],
    ["accepts a default that is a valid value", { default: "2", validValues: ["1", "2"] }, []],
    [
      "accepts a default that is a step of the range",
      { default: "2", validRange: { min: "1", max: "4", step: "1" } },
      [],
    ],
    [
      "rejects both valid values and a valid range",
      { validValues: ["1"], validRange: {} },
      [
        'p: Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
      ],
    ],
    [
      "needs a default if it has valid values",
      { default: null, validValues: ["1"] },
      ["p.default: Required value: required when validValues is defined"],
    ],
    [
      "needs sorted and unique values within the capacity",
      { default: "3", validValues: ["2", "1", "1", "8"] },
      [
        'p.validValues[1]: Invalid value: "1": values must be sorted in ascending order',
        'p.validValues[3]: Invalid value: "8": option is larger than capacity value: 4',
        'p.validValues[2]: Duplicate value: "1"',
        'p.validValues: Invalid value: "3": default value is not valid according to the requestPolicy',
      ],
    ],
    [
      "limits the number of valid values",
      { default: "1", validValues: Array.from({ length: 11 }, () => "1") },
      [
        "p.validValues: Too many: 11: must have at most 10 items",
        'p.validValues: Invalid value: "1": default value is not valid according to the requestPolicy',
      ],
    ],
    [
      "needs a minimum of the range",
      { default: "1", validRange: {} },
      ["p.validRange.min: Required value: required when validRange is defined"],
    ],
    [
      "needs minimum, default and maximum in order",
      { default: "1", validRange: { min: "5", max: "3" } },
      [
        'p.validRange.min: Invalid value: "5": min is larger than capacity value: 4',
        'p.validRange.min: Invalid value: "1": default is less than min: 5',
        'p.validRange.max: Invalid value: "5": min is larger than max: 3',
      ],
    ],
    [
      "needs default and maximum at a multiple of the step",
      { default: "2", validRange: { min: "1", max: "4", step: "2" } },
      [
        'p.validRange.step: Invalid value: "2": value is not a multiple of a given step (2) from (1)',
        'p.validRange.step: Invalid value: "4": value is not a multiple of a given step (2) from (1)',
      ],
    ],
    [
      "needs a first step within the capacity",
      { default: "1", validRange: { min: "1", step: "4" } },
      ['p.validRange.step: Invalid value: "4": one step 5 is larger than capacity value: 4'],
    ],
    ["does not check steps of zero", { default: "1", validRange: { min: "1", step: "0" } }, []],
  ])("%s", (_what, policy, sentences) => expect(errorsOf(policy, "4")).toEqual(sentences));
});

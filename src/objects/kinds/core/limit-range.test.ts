import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { LIMIT_RANGE } from "./limit-range.ts";
import { defaulted, createErrorsOf } from "../../../../test/testing/objects/kinds/core/kind-errors.ts";

const ranging = (...limits: JsonObject[]): JsonObject => ({ spec: { limits } });

describe("a LimitRange", () => {
  test("defaults the default limit of containers to max, and their default request to the default limit or min", () => {
    const limit = {
      type: "Container",
      max: { cpu: "2000m", memory: "1Gi" },
      min: { cpu: "1", "hugepages-1Mi": "1Mi" },
    };
    expect(defaulted(LIMIT_RANGE, ranging(limit))).toEqual(
      ranging({
        type: "Container",
        max: { cpu: "2", memory: "1Gi" },
        min: { cpu: "1", "hugepages-1Mi": "1Mi" },
        default: { cpu: "2", memory: "1Gi" },
        defaultRequest: { cpu: "2", memory: "1Gi", "hugepages-1Mi": "1Mi" },
      }),
    );
  });

  test("sets no defaults for pods and claims", () => {
    const limit = { type: "Pod", max: { cpu: "1" } };
    expect(defaulted(LIMIT_RANGE, ranging(limit))).toEqual(ranging(limit));
    expect(defaulted(LIMIT_RANGE, {})).toEqual({ spec: { limits: null } });
  });

  test("rejects duplicate and unknown types", () => {
    expect(
      createErrorsOf(LIMIT_RANGE, ranging({ type: "Pod" }, { type: "Pod" }, { type: "X" }, { type: "a.io/x" })),
    ).toEqual([
      'spec.limits[1].type: Duplicate value: "Pod"',
      'spec.limits[2].type: Invalid value: "X": must be a standard limit type or fully qualified',
    ]);
  });

  test("rejects unknown resources", () => {
    expect(createErrorsOf(LIMIT_RANGE, ranging({ type: "Pod", max: { x: "1", "a.io/x": "1", storage: "1" } }))).toEqual(
      [
        'spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers',
        'spec.limits[0].max[x]: Invalid value: "x": must be a standard resource type or fully qualified',
        'spec.limits[0].max[x]: Invalid value: "x": must be a standard resource for containers',
      ],
    );
  });

  test("rejects defaults for pods and needs bounds for claims", () => {
    const claims = { type: "PersistentVolumeClaim" };
    expect(createErrorsOf(LIMIT_RANGE, ranging({ type: "Pod", default: { cpu: "1" } }, claims))).toEqual([
      "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
      "spec.limits[1].limits: Required value: either minimum or maximum storage value is required, but neither was provided",
    ]);
  });

  test("needs min, default request, default and max in ascending order", () => {
    const limit = { min: { cpu: "4" }, max: { cpu: "1" }, default: { cpu: "2" }, defaultRequest: { cpu: "3" } };
    const at = "spec.limits[0]";
    expect(createErrorsOf(LIMIT_RANGE, ranging({ type: "Container", ...limit }))).toEqual([
      `${at}.min[cpu]: Invalid value: "4": min value 4 is greater than max value 1`,
      `${at}.defaultRequest[cpu]: Invalid value: "3": min value 4 is greater than default request value 3`,
      `${at}.defaultRequest[cpu]: Invalid value: "3": default request value 3 is greater than max value 1`,
      `${at}.defaultRequest[cpu]: Invalid value: "3": default request value 3 is greater than default limit value 2`,
      `${at}.default[cpu]: Invalid value: "4": min value 4 is greater than default value 2`,
      `${at}.default[cpu]: Invalid value: "1": default value 2 is greater than max value 1`,
    ]);
  });

  test("needs a ratio of at least 1 that min and max allow", () => {
    const field = "spec.limits[0].maxLimitRequestRatio[cpu]";
    const limit = (ratio: string): JsonObject =>
      ranging({ type: "Pod", min: { cpu: "1" }, max: { cpu: "3" }, maxLimitRequestRatio: { cpu: ratio } });
    expect(createErrorsOf(LIMIT_RANGE, limit("2"))).toEqual([]);
    expect(createErrorsOf(LIMIT_RANGE, limit("0.5"))).toEqual([
      `${field}: Invalid value: "500m": ratio 500m is less than 1`,
    ]);
    expect(createErrorsOf(LIMIT_RANGE, limit("4"))).toEqual([
      `${field}: Invalid value: "4": ratio 4 is greater than max/min = 3.000000`,
    ]);
  });

  test("needs equal defaults for extended resources", () => {
    const limit = { type: "Container", default: { "a.io/x": "2" }, defaultRequest: { "a.io/x": "1" } };
    expect(createErrorsOf(LIMIT_RANGE, ranging(limit))).toEqual([
      'spec.limits[0].defaultRequest[a.io/x]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in a.io/x',
    ]);
  });
});

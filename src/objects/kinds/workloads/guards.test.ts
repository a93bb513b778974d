/** Tests of PodDisruptionBudgets and PriorityClasses. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { DISRUPTION_BUDGET } from "./disruption-budget.ts";
import { PRIORITY_CLASS } from "./priority-class.ts";
import {
  created,
  defaulted,
  prepared,
  statusUpdated,
  updated,
} from "../../../../test/testing/objects/kinds/workloads/objects.ts";

describe("a PodDisruptionBudget", () => {
  const budget = (spec: JsonObject): JsonObject => ({ metadata: { name: "b" }, spec });

  test("is stored with zero counts on create", () => {
    expect(prepared(DISRUPTION_BUDGET, budget({ minAvailable: 1 }))["status"]).toEqual({
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 0,
      expectedPods: 0,
    });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", { minAvailable: "50%", selector: { matchLabels: { a: "b" } } }, []],
    [
      "rejects both minAvailable and maxUnavailable",
      { minAvailable: 1, maxUnavailable: "101%", selector: {} },
      [
        'spec: Invalid value: {"MinAvailable":1,"Selector":{},"MaxUnavailable":"101%","UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
        'spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
      ],
    ],
    [
      "rejects a negative count and an unknown eviction policy",
      { maxUnavailable: -1, unhealthyPodEvictionPolicy: "Never" },
      [
        "spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0",
        'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"',
      ],
    ],
  ])("%s", (_what, spec, errors) => {
    expect(created(DISRUPTION_BUDGET, budget(spec))).toEqual(errors);
    expect(updated(DISRUPTION_BUDGET, budget({}), budget(spec))).toEqual(errors);
  });

  test("with an invalid condition and a negative count in its status is rejected", () => {
    const conditions = [{ type: "a b", status: "True", reason: "R", lastTransitionTime: "2030-01-01T00:00:00Z" }];
    const errors = statusUpdated(DISRUPTION_BUDGET, budget({}), { conditions, expectedPods: -1 });
    expect(errors).toHaveLength(2);
    expect(errors[1]).toBe("status.expectedPods: Invalid value: -1: must be greater than or equal to 0");
  });
});

describe("a PriorityClass", () => {
  const priorityClass = (name: string, more: JsonObject = {}): JsonObject => ({ metadata: { name }, ...more });
  const RESERVED =
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error:";

  test("defaults its value and its preemption policy", () => {
    expect(defaulted(PRIORITY_CLASS, priorityClass("p"))).toMatchObject({
      value: 0,
      preemptionPolicy: "PreemptLowerPriority",
    });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["p", { value: 1_000_000_000, preemptionPolicy: "Never" }, []],
    ["system-cluster-critical", { value: 2_000_000_000 }, []],
    [
      "p",
      { value: 1_000_000_001 },
      ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    ],
    ["system-mine", {}, [`${RESERVED} system-mine is not a known system priority class`]],
    [
      "system-node-critical",
      { value: 1 },
      [`${RESERVED} value of system-node-critical PriorityClass must be 2000001000`],
    ],
    [
      "system-node-critical",
      { value: 2_000_001_000, globalDefault: true },
      [`${RESERVED} globalDefault of system-node-critical PriorityClass must be false`],
    ],
    [
      "p",
      { preemptionPolicy: "Odd" },
      ['preemptionPolicy: Unsupported value: "Odd": supported values: "PreemptLowerPriority", "Never"'],
    ],
  ])("named %s with %j has the expected errors", (name, more, errors) => {
    expect(created(PRIORITY_CLASS, priorityClass(name, more))).toEqual(errors);
  });

  test("cannot change its value and its preemption policy", () => {
    const after = { value: 2, preemptionPolicy: "Never", description: "new" };
    expect(updated(PRIORITY_CLASS, priorityClass("p", { value: 1 }), priorityClass("p", after))).toEqual([
      "value: Forbidden: may not be changed in an update.",
      'preemptionPolicy: Invalid value: "Never": field is immutable',
    ]);
  });
});

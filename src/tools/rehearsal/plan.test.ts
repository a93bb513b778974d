import { describe, expect, test } from "vitest";
import { createPlan, planProblem, type PlanOptions } from "./plan.ts";

const OPTIONS: PlanOptions = { from: "1.33", to: "1.36", servers: 3, minutes: 30, way: "up" };

describe("the plan", () => {
  test("moves every server one minor version at a time, and no server is two minor versions ahead of another", () => {
    const { steps } = createPlan(OPTIONS);
    expect(steps.map(({ serverId, from, to }) => `${serverId} ${from} ${to}`)).toEqual([
      "apiserver-1 1.33 1.34",
      "apiserver-2 1.33 1.34",
      "apiserver-3 1.33 1.34",
      "apiserver-1 1.34 1.35",
      "apiserver-2 1.34 1.35",
      "apiserver-3 1.34 1.35",
      "apiserver-1 1.35 1.36",
      "apiserver-2 1.35 1.36",
      "apiserver-3 1.35 1.36",
    ]);
  });

  test("plays the rollback in the same steps, from the newest release to the oldest", () => {
    const { steps, releases } = createPlan({ ...OPTIONS, to: "1.34", way: "and-back" });
    expect(releases).toEqual(["1.33", "1.34"]);
    expect(steps.map(({ direction, to }) => `${direction} ${to}`)).toEqual([
      ...["up 1.34", "up 1.34", "up 1.34"],
      ...["down 1.33", "down 1.33", "down 1.33"],
    ]);
  });

  test("has evenly spaced steps, with quiet time before the first and after the last", () => {
    const { steps, settleAtMs, durationMs } = createPlan(OPTIONS);
    expect(durationMs).toBe(30 * 60_000);
    expect(steps[0]!.atMs).toBe(60_000);
    expect(settleAtMs).toBe(durationMs - 60_000);
    const gaps = steps.slice(1).map(({ atMs }, index) => Math.round((atMs - steps[index]!.atMs) / 1000));
    expect(new Set(gaps)).toEqual(new Set([187]));
    expect(steps.at(-1)!.atMs).toBeLessThan(settleAtMs);
  });
});

describe("a plan that cannot be played", () => {
  const cases: readonly (readonly [Partial<PlanOptions>, RegExp])[] = [
    [{ to: "1.33" }, /--to must be a newer release/],
    [{ from: "1.36", to: "1.33" }, /use --down to play the rollback/],
    [{ servers: 10 }, /--servers must be at most 9/],
    [{ minutes: 2000 }, /--minutes must be at most/],
    [{ minutes: 2 }, /too short for 9 steps: set at least 5 minutes/],
  ];
  test.each(cases)("is reported in one sentence for %j", (changed, sentence) => {
    expect(planProblem({ ...OPTIONS, ...changed })).toMatch(sentence);
  });

  test("because it is too short is reported with the minimum number of minutes", () => {
    expect(planProblem({ ...OPTIONS, minutes: 5 })).toBeUndefined();
    expect(planProblem({ ...OPTIONS, minutes: 4 })).toMatch(/5 minutes/);
    expect(planProblem(OPTIONS)).toBeUndefined();
  });
});

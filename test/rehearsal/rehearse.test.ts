import { beforeAll, describe, expect, test } from "vitest";
import { rehearse, type RehearseOptions } from "../../src/tools/rehearsal/rehearse.ts";
import type { RehearsalReport } from "../../src/tools/rehearsal/report.ts";

const OPTIONS: RehearseOptions = {
  ...{ from: "1.33", to: "1.34", servers: 2, minutes: 2, way: "up", faults: "light", gate: "on", seed: 4 },
};

describe("a short rehearsal from 1.33 to 1.34", () => {
  let report: RehearsalReport;
  beforeAll(async () => {
    report = await rehearse(OPTIONS);
  });

  test("has no wrong response with the proxy, and proxies requests", () => {
    const { on } = report.runs;
    expect(on.failures).toEqual([]);
    expect(on.firstWrong).toEqual([]);
    expect(on.wrong).toBe(0);
    expect(on.routing.reduce((sum, { proxied }) => sum + proxied, 0)).toBeGreaterThan(0);
    expect(report.verdict).toMatchObject({ isPass: true });
  });

  test("reports wrong responses without the proxy", () => {
    const { off } = report.runs;
    expect(off.failures).toEqual([]);
    expect(off.wrongByKind["resource-called-unknown"]).toBeGreaterThan(0);
    expect(off.wrongByKind["missing-from-discovery"]).toBeGreaterThan(0);
    expect(off.routing.every(({ proxied }) => proxied === 0)).toBe(true);
    expect(off.firstWrong[0]).toMatchObject({ right: expect.stringContaining("(1.34) serve") });
  });

  test("plays every step: each server restarts as its next release and becomes ready", () => {
    for (const { steps } of Object.values(report.runs)) {
      expect(steps.map(({ serverId, to }) => `${serverId} ${to}`)).toEqual(["apiserver-1 1.34", "apiserver-2 1.34"]);
      for (const { readyAtMs, stoppedAtMs } of steps) expect(readyAtMs).toBeGreaterThan(stoppedAtMs);
    }
  });

  test("has consistent figures", () => {
    for (const { answers, byStatus, routing, unavailable, wrong, wrongByKind } of Object.values(report.runs)) {
      const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
      expect(sum(Object.values(byStatus))).toBe(answers);
      expect(sum(routing.map(({ local, proxied, unavailable: rejected }) => local + proxied + rejected))).toBe(answers);
      expect(sum(routing.map((counts) => counts.unavailable))).toBe(unavailable);
      expect(sum(Object.values(wrongByKind))).toBe(wrong);
    }
  });

  test("has work for the namespace controller and the garbage collector, and records the storage versions that change", () => {
    const { work, storage } = report.runs.on;
    expect(work.objectsMade).toBeGreaterThan(20);
    expect(work.ownersDeleted).toBeGreaterThan(0);
    expect(work.namespacesDeleted).toBeGreaterThan(0);
    expect(work).toMatchObject({ namespacesLeft: 0, objectsLeft: 0 });
    expect(storage.map(({ resource }) => resource)).toContain("networking.k8s.io.servicecidrs");
  });

  test("produces the same report for the same seed", async () => {
    expect(await rehearse(OPTIONS)).toEqual(report);
  });
});

describe("a rehearsal with rollback", () => {
  test("has no wrong response with the proxy: resources that are no longer served return 503", async () => {
    const report = await rehearse({ ...OPTIONS, minutes: 3, way: "and-back", faults: "none" });
    expect(report.runs.on.firstWrong).toEqual([]);
    expect(report.runs.on.unavailable).toBeGreaterThan(0);
    expect(report.runs.off.wrong).toBeGreaterThan(0);
  });
});

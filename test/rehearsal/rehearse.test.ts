import { beforeAll, describe, expect, test } from "vitest";
import { rehearse, type RehearseOptions } from "../../src/tools/rehearsal/rehearse.ts";
import type { RehearsalReport, RunReport } from "../../src/tools/rehearsal/report.ts";
import type { RehearsalSubject } from "../../src/tools/rehearsal/subject.ts";

const ABOUT = { version: "test", date: "2030-01-01T00:00:00.000Z", command: [] } as const;
const OPTIONS: RehearseOptions = {
  ...{ from: "1.33", to: "1.34", servers: 2, minutes: 2, way: "up", faults: "light", seed: 4 },
  subject: "evenkeel",
  about: ABOUT,
};

function runOf({ runs }: RehearsalReport, subject: RehearsalSubject): RunReport {
  return runs.find((run) => run.subject === subject)!;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

describe("a short rehearsal of Evenkeel from 1.33 to 1.34", () => {
  let report: RehearsalReport;
  beforeAll(async () => {
    report = await rehearse(OPTIONS);
  });

  test("has no wrong response of Evenkeel, which proxies requests", () => {
    const run = runOf(report, "evenkeel");
    expect(run.failures).toEqual([]);
    expect(run.firstWrong).toEqual([]);
    expect(run.wrong).toBe(0);
    expect(sum(run.routing.map(({ proxied }) => proxied))).toBeGreaterThan(0);
    expect(report.verdict).toMatchObject({ isPass: true, sentence: expect.stringMatching(/^Pass: Evenkeel: 0 wrong/) });
  });

  test("compares Evenkeel with kube-apiserver as it comes, which has wrong responses", () => {
    const run = runOf(report, "kube-apiserver");
    expect(run.failures).toEqual([]);
    expect(run.wrongByKind["resource-called-unknown"]).toBeGreaterThan(0);
    expect(run.wrongByKind["missing-from-discovery"]).toBeGreaterThan(0);
    expect(run.firstWrong[0]).toMatchObject({ right: expect.stringContaining("(1.34) serve") });
  });

  test("plays every step: each server restarts as its next release and becomes ready", () => {
    for (const { steps } of report.runs) {
      expect(steps.map(({ serverId, to }) => `${serverId} ${to}`)).toEqual(["apiserver-1 1.34", "apiserver-2 1.34"]);
      for (const { readyAtMs, stoppedAtMs } of steps) expect(readyAtMs).toBeGreaterThan(stoppedAtMs);
    }
  });

  test("has consistent figures", () => {
    for (const { answers, byStatus, routing, unavailable, wrong, wrongByKind } of report.runs) {
      expect(sum(Object.values(byStatus))).toBe(answers);
      expect(sum(routing.map(({ local, proxied, unavailable: rejected }) => local + proxied + rejected))).toBe(answers);
      expect(sum(routing.map((counts) => counts.unavailable))).toBe(unavailable);
      expect(sum(Object.values(wrongByKind))).toBe(wrong);
    }
  });

  test("has work for the namespace controller and the garbage collector, and records the storage versions that change", () => {
    const { work, storage } = runOf(report, "evenkeel");
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

describe("a short rehearsal of kube-apiserver", () => {
  test("from 1.33 to 1.34 has false 404s as it comes, and none for requests to resources with the proxy", async () => {
    const report = await rehearse({ ...OPTIONS, subject: "kube-apiserver", faults: "none" });
    const [plain, proxy] = report.runs as [RunReport, RunReport];
    expect([plain.subject, proxy.subject]).toEqual(["kube-apiserver", "kube-apiserver-with-proxy"]);
    expect([...plain.failures, ...proxy.failures]).toEqual([]);
    expect(sum(plain.routing.map(({ proxied }) => proxied))).toBe(0);
    expect(sum(proxy.routing.map(({ proxied }) => proxied))).toBeGreaterThan(0);
    expect(plain.wrongByKind["resource-called-unknown"]).toBeGreaterThan(10);
    // The proxy serves neither /apis/<group> nor, before 1.35, merged discovery.
    const unknown = proxy.firstWrong.filter(({ kind }) => kind === "resource-called-unknown");
    expect(unknown.filter(({ request }) => !/^GET \/apis\/[^/]+\/[^/]+$/.test(request))).toEqual([]);
    expect(proxy.wrongByKind["missing-from-discovery"]).toBeGreaterThan(0);
    expect(report.verdict).toMatchObject({
      isPass: false,
      sentence: expect.stringMatching(
        /^Fail: kube-apiserver as it comes: \d+ wrong responses.*\. With the mixed version proxy: \d+ wrong/,
      ),
    });
  });

  test("from 1.35 to 1.36 has complete discovery with the proxy, which merges it from 1.35 on", async () => {
    const report = await rehearse({ ...OPTIONS, from: "1.35", to: "1.36", subject: "kube-apiserver-with-proxy" });
    const proxy = runOf(report, "kube-apiserver-with-proxy");
    expect(runOf(report, "kube-apiserver").wrongByKind["missing-from-discovery"]).toBeGreaterThan(0);
    expect(proxy.failures).toEqual([]);
    expect(proxy.wrongByKind["missing-from-discovery"]).toBeUndefined();
  });
});

describe("a rehearsal with rollback", () => {
  test("has no wrong response of Evenkeel: resources that are no longer served return 503", async () => {
    const report = await rehearse({ ...OPTIONS, minutes: 3, way: "and-back", faults: "none" });
    const run = runOf(report, "evenkeel");
    expect(run.firstWrong).toEqual([]);
    expect(run.unavailable).toBeGreaterThan(0);
    expect(runOf(report, "kube-apiserver").wrong).toBeGreaterThan(0);
  });
});

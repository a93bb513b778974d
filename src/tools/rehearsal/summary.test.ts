import { describe, expect, test } from "vitest";
import type { ManifestFinding } from "./manifests.ts";
import { ruler, sparkline, squeeze } from "./plots.ts";
import { decideVerdict } from "./report.ts";
import { rehearsalSummary } from "./summary.ts";
import { sampleReport, sampleRun } from "../../../test/testing/tools/rehearsal/sample-report.ts";
import { durationText, minuteText } from "./times.ts";

describe("text plots", () => {
  test("show zero as a dot, the smallest other value as visible, and the largest at full height", () => {
    expect(sparkline([0, 1, 50, 100])).toBe("·▁▄█");
    expect(sparkline([0, 0])).toBe("··");
  });

  test("keep the sum of the values when there are fewer columns than values", () => {
    expect(squeeze([1, 2, 3, 4, 5], 2)).toEqual([6, 9]);
    expect(squeeze([1, 2], 60)).toEqual([1, 2]);
  });

  test("mark times on a ruler in proportion", () => {
    expect(ruler([0, 50, 100], 100, 11)).toBe("^    ^    ^");
  });

  test("have times in minutes and seconds", () => {
    expect([minuteText(61_500), minuteText(0), durationText(950), durationText(4_200), durationText(90_000)]).toEqual([
      ...["1:01", "0:00", "950 ms", "4.2 s", "1.5 min"],
    ]);
  });
});

const FINDING: ManifestFinding = {
  kind: "vanishes",
  file: "a",
  apiVersion: "v1",
  objectKind: "X",
  name: "n",
  release: "1.34",
  replacement: null,
  sentence: "s",
};

describe("the summary", () => {
  test("shows the figures of both runs and ends with the verdict", () => {
    const text = rehearsalSummary(sampleReport());
    expect(text).toMatch(/^Rehearsal of 1\.33 to 1\.35: 2 servers, 6 virtual minutes, faults light, seed 7\n/);
    expect(text).toMatch(/^responses +120 +120$/m);
    expect(text).toMatch(/^WRONG +0 +2$/m);
    expect(text).toMatch(/^ {2}resource called unknown +0 +1$/m);
    expect(text).toMatch(/GET \/apis\/resource\.k8s\.io\/v1\/resourceclaims/);
    expect(text).toMatch(/Pass: 120 responses with the mixed version proxy, none of them wrong\.\n$/);
  });

  test.each([48, 60, 80, 200])("fits into %i columns", (columns) => {
    const lines = rehearsalSummary(sampleReport(), columns).split("\n");
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(Math.min(columns, 120));
  });

  test("contains no control characters from a manifest or a server", () => {
    const finding: ManifestFinding = { ...FINDING, kind: "not-served", file: "a\u001b[2Jb.yaml", name: "n\r" };
    const text = rehearsalSummary(sampleReport({ manifests: { objects: 1, findings: [finding] } }));
    expect(text).toContain("a?[2Jb.yaml");
    for (const character of ["\u001b", "\r"]) expect(text).not.toContain(character);
  });
});

describe("the verdict", () => {
  test("fails for wrong responses, and names them by kind", () => {
    const run = sampleRun("off", { wrong: 3, wrongByKind: { "write-lost": 1, "missing-from-list": 2 } });
    expect(decideVerdict(run, null)).toEqual({
      isPass: false,
      sentence: "Fail: 3 wrong responses without the mixed version proxy (1 write lost, 2 missing from list).",
    });
  });

  test("does not fail for 503s alone", () => {
    expect(decideVerdict(sampleRun("on", { unavailable: 50 }), null).isPass).toBe(true);
  });

  test("fails for a manifest that will not be served after the upgrade", () => {
    expect(decideVerdict(sampleRun("on"), { objects: 1, findings: [FINDING] })).toMatchObject({
      isPass: false,
      sentence: expect.stringContaining("1 manifest uses an API that will not be served after the upgrade"),
    });
  });

  test("fails if the rehearsal itself failed, whatever it counted", () => {
    expect(decideVerdict(sampleRun("on", { failures: ["broken"] }), null)).toMatchObject({ isPass: false });
  });
});

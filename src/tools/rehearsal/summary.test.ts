import { describe, expect, test } from "vitest";
import type { ManifestFinding } from "./manifests.ts";
import { ruler, sparkline, squeeze } from "./plots.ts";
import { decideVerdict } from "./report.ts";
import { rehearsalSummary } from "./summary.ts";
import { sampleReport, sampleRun } from "../../../test/testing/tools/rehearsal/sample-report.ts";
import { tallyText } from "./wrong-kinds.ts";
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
    expect(text).toMatch(/^ +as it comes +with proxy$/m);
    expect(text).toMatch(/^responses +120 +120$/m);
    expect(text).toMatch(/^WRONG +2 +0$/m);
    expect(text).toMatch(/^ {2}resource called unknown +1 +0$/m);
    expect(text).toMatch(/GET \/apis\/resource\.k8s\.io\/v1\/resourceclaims/);
    expect(text.replaceAll(/\n +/g, " ")).toMatch(
      /\nPass: With the mixed version proxy: 0 wrong responses\. kube-apiserver as it comes: 2 wrong responses\.\n$/,
    );
  });

  test("names one virtual minute in the singular", () => {
    const report = sampleReport();
    const text = rehearsalSummary({ ...report, settings: { ...report.settings, minutes: 1 } });
    expect(text).toContain("1 virtual minute, faults light");
  });

  test.each([56, 60, 80, 200])("fits into %i columns", (columns) => {
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
  const PLAIN = sampleRun("kube-apiserver", {
    wrong: 4,
    wrongByKind: { "write-lost": 1, "missing-from-list": 2, "resource-called-unknown": 1 },
  });
  const PROXY = sampleRun("kube-apiserver-with-proxy");

  test("fails for wrong responses of the subject, and compares both runs in words, the subject first", () => {
    expect(decideVerdict(PLAIN, [PROXY], null)).toEqual({
      isPass: false,
      sentence: "Fail: kube-apiserver as it comes: 3 wrong responses, 1 lost write. With the mixed version proxy: 0.",
    });
  });

  test("does not fail for wrong responses of the run that the subject is compared with", () => {
    expect(decideVerdict(PROXY, [PLAIN], null)).toEqual({
      isPass: true,
      sentence:
        "Pass: With the mixed version proxy: 0 wrong responses. kube-apiserver as it comes: 3 wrong responses, 1 lost write.",
    });
  });

  test("does not fail for 503s alone", () => {
    expect(decideVerdict(sampleRun("evenkeel", { unavailable: 50 }), [], null).isPass).toBe(true);
  });

  test("fails for a manifest that will not be served after the upgrade", () => {
    expect(decideVerdict(PROXY, [], { objects: 1, findings: [FINDING] })).toMatchObject({
      isPass: false,
      sentence: expect.stringContaining("1 manifest uses an API that will not be served after the upgrade"),
    });
  });

  test("fails if a run itself failed, whatever it counted", () => {
    const failed = sampleRun("kube-apiserver", { failures: ["broken"] });
    expect(decideVerdict(PROXY, [failed], null)).toMatchObject({ isPass: false });
  });
});

describe("a tally in words", () => {
  test.each([
    [{}, "0 wrong responses"],
    [{ "missing-from-list": 1 }, "1 wrong response"],
    [{ "write-lost": 2 }, "2 lost writes"],
    [{ "told-deleted": 3, "left-behind": 1 }, "3 wrong responses, 1 object left behind"],
  ])("of %j is %j", (counts, text) => {
    expect(tallyText(counts)).toBe(text);
  });
});

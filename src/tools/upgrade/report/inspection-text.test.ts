import { describe, expect, test } from "vitest";
import type { UpgradeFinding } from "../finding.ts";
import { poison, sampleFinding, sampleInspection } from "../../../../test/testing/tools/upgrade/sample-inspection.ts";
import { inspectionText } from "./inspection-text.ts";

const ESCAPE = "\u001b";
const HOSTILE = `${ESCAPE}[2J${ESCAPE}]0;title\u0007\r\u0000\u009b31m\u202e`;

describe("inspectionText", () => {
  test("begins with the verdict, and lists findings by severity before what is stored", () => {
    const text = inspectionText(sampleInspection());
    const [first] = text.split("\n");
    expect(first).toBe("Upgrade 1.33 → 1.36: 1 problem must be fixed first, 1 problem should be fixed");
    const places = ["Source", "error ", "warning ", "info ", "Stored\n", "Largest objects\n", "Encryption keys\n"].map(
      (part) => text.indexOf(part),
    );
    expect(places).toEqual(places.toSorted((left, right) => left - right));
    expect(places[0]).toBeGreaterThan(0);
  });

  test("shows errors and warnings with their fix, and other findings as one line", () => {
    const text = inspectionText(sampleInspection());
    expect(text).toContain("$ kubectl get sample-error\n");
    expect(text).toContain("info     title of sample-info [sample-info]\n");
    expect(text).not.toContain("Reason of sample-info");
  });

  test("shows the fixes of warnings only if there are few, or if the user requests details", () => {
    const warnings = (count: number): UpgradeFinding[] =>
      Array.from({ length: count }, (_, n) => sampleFinding("warning", `w${n}`));
    expect(inspectionText(sampleInspection({ findings: warnings(3) }))).toContain("$ kubectl get w2\n");
    const many = sampleInspection({ findings: [sampleFinding("error", "e"), ...warnings(4)] });
    const text = inspectionText(many);
    expect(text).toContain("$ kubectl get e\n");
    expect(text).toContain("warning  title of w3 [w3]\n");
    expect(text).not.toContain("$ kubectl get w");
    expect(text).toContain("Reasons and fixes of these findings: --details");
    expect(inspectionText(many, { isDetailed: true })).toContain("$ kubectl get w3\n");
  });

  test("without problems the verdict reports that nothing must be fixed", () => {
    const [first] = inspectionText(sampleInspection({ findings: [] })).split("\n");
    expect(first).toBe("Upgrade 1.33 → 1.36: nothing must be fixed first");
  });

  test("of a cluster of unknown release names only the target", () => {
    const { from } = sampleInspection();
    const { release: _, ...unknown } = from;
    const text = inspectionText(
      sampleInspection({ from: { ...unknown, origin: "unknown", evidence: [] }, hops: ["1.36"], findings: [] }),
    );
    expect(text).toContain("Upgrade to 1.36: nothing must be fixed first\n");
    expect(text).toContain("Release  unknown, at least 1.32\n");
  });

  test("shows the stored versions of a resource that has several", () => {
    expect(inspectionText(sampleInspection())).toMatch(
      /widgets\.shop\.example +8 +3\.9 KiB +json +v1alpha1 5, v1beta1 3\n/,
    );
  });

  test("lists unreadable values only if requested", () => {
    expect(inspectionText(sampleInspection())).not.toContain("/registry/widgets/broken");
    expect(inspectionText(sampleInspection(), { listsUnreadable: true })).toMatch(
      /Unreadable values\n {2}\/registry\/widgets\/broken {2}not JSON\n$/,
    );
  });

  test("marks a report from the API as limited, with the list of facts that are not known", () => {
    const { read } = sampleInspection();
    const text = inspectionText(
      sampleInspection({ read: { ...read, notKnown: ["the version in which each object is stored"] }, findings: [] }),
    );
    expect(text).toContain("the API shows nothing that must be fixed first");
    expect(text).toContain("This is a limited report");
    expect(text).toContain("- the version in which each object is stored\n");
  });

  test("passes no control character of the cluster to the terminal", () => {
    const text = inspectionText(poison(sampleInspection(), HOSTILE), { listsUnreadable: true });
    expect(text).toContain("\u{fffd}[2J");
    expect([...text.matchAll(/[\p{Cc}\p{Bidi_Control}]/gu)].every(([character]) => character === "\n")).toBe(true);
  });

  test("colors only the verdict and the severities", () => {
    const text = inspectionText(sampleInspection(), { color: true });
    const colored = text.split("\n").filter((line) => line.includes(ESCAPE));
    expect(colored).toHaveLength(3);
  });

  test("counts the findings that the user ignores", () => {
    expect(inspectionText(sampleInspection(), { ignored: 2 })).toContain("2 findings ignored by --ignore\n");
  });

  test("is at most a screen of 60 lines for a few findings and many resources", () => {
    const [resource] = sampleInspection().resources;
    const resources = Array.from({ length: 80 }, (_, n) => ({ ...resource!, resource: `r${n}` }));
    const findings = [1, 2, 3].map((n) => sampleFinding("warning", `w${n}`));
    const text = inspectionText(sampleInspection({ resources, findings }));
    expect(text.split("\n").length).toBeLessThan(60);
    expect(text).toMatch(/and 72 more resources +72,000\n/);
  });
});

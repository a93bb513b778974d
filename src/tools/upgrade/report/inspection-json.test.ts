import { describe, expect, test } from "vitest";
import { sampleInspection } from "../../../../test/testing/tools/upgrade/sample-inspection.ts";
import { inspectionJson } from "./inspection-json.ts";

describe("inspectionJson", () => {
  test("has the verdict, the ignored IDs and every field of the inspection", () => {
    const inspection = sampleInspection();
    expect(JSON.parse(inspectionJson(inspection, ["some-id"]))).toEqual({
      ...inspection,
      verdict: {
        mustFix: 1,
        shouldFix: 1,
        sentence: "Upgrade 1.33 → 1.36: 1 problem must be fixed first, 1 problem should be fixed",
        ignored: ["some-id"],
      },
    });
  });

  test("escapes every character that a terminal could obey, and keeps the value", () => {
    const name = "a\u001b[2J\u009b31m\u202eb\u2028c";
    const json = inspectionJson(sampleInspection({ largestObjects: [{ name, bytes: 1 }] }), []);
    expect([...json.matchAll(/[\p{Cc}\p{Bidi_Control}\u2028]/gu)].every(([character]) => character === "\n")).toBe(
      true,
    );
    expect(JSON.parse(json)).toMatchObject({ largestObjects: [{ name }] });
  });
});

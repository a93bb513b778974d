import { describe, expect, test } from "vitest";
import { unifiedDiff } from "./unified-diff.ts";

function lines(text: string): string[] {
  return text.split("");
}

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `line ${index}`);
}

describe("the unified diff", () => {
  test("is empty if the texts are equal", () => {
    expect(unifiedDiff(lines("abc"), lines("abc"))).toBe("");
  });

  test.each([
    ["abcdefgh", "abcdXfgh", "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+X\n f\n g\n h\n"],
    ["abc", "abcd", "@@ -1,3 +1,4 @@\n a\n b\n c\n+d\n"],
    ["a", "", "@@ -1 +0,0 @@\n-a\n"],
    ["qabxcd", "abycdf", "@@ -1,6 +1,6 @@\n-q\n a\n b\n-x\n+y\n c\n d\n+f\n"],
    ["xaxbxc", "axbxcx", "@@ -1,6 +1,6 @@\n-x\n a\n x\n b\n x\n c\n+x\n"],
  ])("of %s and %s is that of kube-apiserver", (a, b, diff) => {
    expect(unifiedDiff(lines(a), lines(b))).toBe(diff);
  });

  test("omits unchanged lines between distant changes", () => {
    const a = numbered(30);
    const b = a.with(5, "first").with(25, "second");
    expect(unifiedDiff(a, b).match(/^@@.*@@$/gm)).toEqual(["@@ -3,7 +3,7 @@", "@@ -23,7 +23,7 @@"]);
  });

  test("of long texts does not start a match with a frequent line", () => {
    const many = Array.from({ length: 300 }, (_, index) => (index % 3 === 0 ? `name ${index}` : "null"));
    const changed = many.with(150, "other");
    expect(unifiedDiff(many, changed)).toBe(
      "@@ -148,7 +148,7 @@\n name 147\n null\n null\n-name 150\n+other\n null\n null\n name 153\n",
    );
  });

  test("is empty if the texts are too long to compare", () => {
    expect(unifiedDiff(numbered(6000), ["a"])).toBe("");
  });
});

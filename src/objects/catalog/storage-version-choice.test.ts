import { describe, expect, test } from "vitest";
import { chooseStorageVersion, type StorageCandidate, type StorageVersionRule } from "./storage-version-choice.ts";

const ONE_PASS: StorageVersionRule = { isTwoPass: false, skipsReplaced: false };
const TWO_PASSES: StorageVersionRule = { isTwoPass: true, skipsReplaced: false };
const SKIPPING: StorageVersionRule = { isTwoPass: false, skipsReplaced: true };

/** "v1 1.34, v1beta1 1.30": versions with the releases that introduced them, most preferred first. "!": replaced. */
function candidates(text: string): StorageCandidate[] {
  return text
    .split(", ")
    .filter((one) => one !== "")
    .map((one) => {
      const [version = "", introduced, mark] = one.split(" ");
      return { groupVersion: `example.io/${version}`, introduced, isReplaced: mark === "!" };
    });
}

function chosen(rule: StorageVersionRule, text: string, minCompatibility: string, emulated: string): string {
  const found = chooseStorageVersion(candidates(text), { rule, minCompatibility, emulated });
  return (found ?? "none").replace("example.io/", "");
}

const STABLE = "v1 1.29, v1beta3 1.26, v1beta2 1.23, v1beta1 1.20";
const GRADUATING = "v1beta1 1.33, v1alpha2 1.31";

describe("both rules choose the most preferred version that the minimum compatibility version has:", () => {
  test.each([
    [STABLE, "1.20", "1.21", "v1beta1"],
    [STABLE, "1.22", "1.23", "v1beta1"],
    [STABLE, "1.23", "1.24", "v1beta2"],
    [STABLE, "1.28", "1.29", "v1beta3"],
    [STABLE, "1.29", "1.30", "v1"],
    [STABLE, "1.26", "1.36", "v1beta3"],
    ["v1", "1.30", "1.31", "v1"],
    ["v1 1.9, v1beta1 1.8", "1.10", "1.11", "v1"],
    ["v1beta1 1.30", "1.32", "1.33", "v1beta1"],
  ])("of %s with %s, emulating %s, it is %s", (versions, oldest, emulated, version) => {
    expect(chosen(ONE_PASS, versions, oldest, emulated)).toBe(version);
    expect(chosen(TWO_PASSES, versions, oldest, emulated)).toBe(version);
  });
});

describe("of a resource that the minimum compatibility version has as alpha or not at all,", () => {
  test.each([
    // A beta version replaces the alpha version in the release that introduces it.
    [GRADUATING, "1.32", "1.33", "v1alpha2", "v1beta1"],
    [GRADUATING, "1.31", "1.32", "v1alpha2", "v1alpha2"],
    [GRADUATING, "1.31", "1.33", "v1alpha2", "v1beta1"],
    [GRADUATING, "1.33", "1.34", "v1beta1", "v1beta1"],
    // A new version that the emulated release does not have is not written by two passes.
    ["v1 1.37, v1beta1 1.36, v1alpha1 1.35", "1.34", "1.35", "v1", "v1alpha1"],
    ["v1 1.37, v1beta1 1.36, v1alpha1 1.35", "1.34", "1.36", "v1", "v1beta1"],
    // Alpha only.
    ["v1alpha3 1.31", "1.32", "1.33", "v1alpha3", "v1alpha3"],
    ["v1alpha1 1.33", "1.32", "1.33", "v1alpha1", "v1alpha1"],
    ["v1alpha2 1.33, v1alpha1 1.32", "1.32", "1.33", "v1alpha1", "v1alpha2"],
    // New, without an alpha version.
    ["v1beta1 1.33", "1.32", "1.33", "v1beta1", "v1beta1"],
    ["v1 1.36, v1beta2 1.35", "1.33", "1.35", "v1", "v1beta2"],
    // Newer than the emulated release.
    [STABLE, "1.10", "1.11", "v1", "v1"],
  ])("of %s with %s, emulating %s: one pass chooses %s, two passes %s", (...row) => {
    const [versions, oldest, emulated, one, two] = row;
    expect(chosen(ONE_PASS, versions, oldest, emulated)).toBe(one);
    expect(chosen(TWO_PASSES, versions, oldest, emulated)).toBe(two);
  });
});

test("only the rule that skips replaced versions omits them", () => {
  const versions = "v1 1.33, v1beta2 1.31 !, v1beta1 1.30";
  expect(chosen(ONE_PASS, versions, "1.32", "1.33")).toBe("v1beta2");
  expect(chosen(SKIPPING, versions, "1.32", "1.33")).toBe("v1beta1");
  expect(chosen(SKIPPING, "v1 1.33, v1beta1 1.30 !", "1.32", "1.33")).toBe("v1");
});

test("without versions there is no choice", () => {
  expect([ONE_PASS, TWO_PASSES].map((rule) => chosen(rule, "", "1.35", "1.36"))).toEqual(["none", "none"]);
});

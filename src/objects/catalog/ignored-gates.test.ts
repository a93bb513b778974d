import { expect, test } from "vitest";
import { catalogGateNames } from "./feature-gates.ts";
import { ignoredGates } from "./ignored-gates.ts";
import { RELEASES, type ReleaseName } from "./release.ts";

const problemOf = (gate: string, release: ReleaseName = "1.36", isOn = true): string | undefined =>
  ignoredGates(new Map([[gate, isOn]]), release)[0]?.problem;

test.each<readonly [gate: string, suggestion: string]>([
  ["StorageVersionApi", "StorageVersionAPI"],
  ["storageversionapi", "StorageVersionAPI"],
  ["InplacePodVerticalScalling", "InPlacePodVerticalScaling"],
  ["AllAlphas", "AllAlpha"],
  ["VersionAwareProxy", "VersionAwareProxying"],
])("an unknown feature gate %s is ignored, with the suggestion %s", (gate, suggestion) => {
  expect(problemOf(gate)).toBe(`unknown feature gate, did you mean ${suggestion}?`);
});

test.each(["X", "MyOwnFeature", "x".repeat(1_000_000)])(
  "an unknown feature gate that resembles no other is ignored, without a suggestion",
  (gate) => {
    expect(problemOf(gate)).toBe("unknown feature gate");
  },
);

test.each<readonly [gate: string, release: ReleaseName, where: string]>([
  ["AggregatedDiscoveryEndpoint", "1.36", "1.28 to 1.32"],
  ["CronJobTimeZone", "1.30", "1.28"],
  ["ConstrainedImpersonation", "1.28", "1.35 and newer"],
])("the feature gate %s, which release %s does not have, is ignored", (gate, release, where) => {
  expect(problemOf(gate, release)).toBe(`Kubernetes ${release} does not have this feature gate, only ${where}`);
});

test.each<readonly [release: ReleaseName, isOn: boolean, problem: string | undefined]>([
  ["1.29", false, undefined],
  ["1.30", true, undefined],
  ["1.30", false, "aggregated discovery cannot be turned off in Kubernetes 1.30"],
  ["1.32", false, "aggregated discovery cannot be turned off in Kubernetes 1.32"],
])("in release %s, AggregatedDiscoveryEndpoint=%s has the problem %s", (release, isOn, problem) => {
  expect(problemOf("AggregatedDiscoveryEndpoint", release, isOn)).toBe(problem);
});

test("no release ignores the gates that control its resources, or those of this project", () => {
  for (const release of RELEASES) {
    const gates = [...catalogGateNames(release), "VersionAwareProxying", "UnknownVersionInteroperabilityProxy"];
    expect(ignoredGates(new Map(gates.map((gate) => [gate, true])), release)).toEqual([]);
  }
});

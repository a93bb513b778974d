import { expect, test } from "vitest";
import { OptionError } from "../../base/option-error.ts";
import { DEFAULT_RELEASE } from "./release.ts";
import { resolveRelease, type ReleaseOptions } from "./release-options.ts";

test("without options the server behaves as the newest final release, and serves the APIs that this project turns on in every release", () => {
  const { version, catalog, strictRelease } = resolveRelease({});
  expect([version.release, version.binary, strictRelease]).toEqual([DEFAULT_RELEASE, DEFAULT_RELEASE, false]);
  const storageVersions = ["internal.apiserver.k8s.io", "storageversions"] as const;
  expect(catalog.resource(...storageVersions)).toBeDefined();
  expect(resolveRelease({ strictRelease: true }).catalog.resource(...storageVersions)).toBeUndefined();
});

test("--runtime-config controls what the catalog serves", () => {
  const { catalog } = resolveRelease({ release: "1.36", runtimeConfig: ["batch/v1=false"] });
  expect(catalog.resource("batch", "jobs")).toBeUndefined();
});

test("--feature-gates keeps every gate that is set, and passes only gates that control resources to the catalog", () => {
  const { featureGates, gatesSet } = resolveRelease({ featureGates: ["AllAlpha=true,StorageVersionAPI=false"] });
  expect([...featureGates]).toEqual([["AllAlpha", true]]);
  expect([...gatesSet.keys()]).toEqual(["AllAlpha", "StorageVersionAPI"]);
  const { ignoredGates, ...prefixed } = resolveRelease({ featureGates: ["kube:AllAlpha=true"] });
  expect([[...prefixed.featureGates], ignoredGates]).toEqual([[["AllAlpha", true]], []]);
});

test.each<readonly [release: string, featureGates: string, isServed: boolean]>([
  ["1.28", "", true],
  ["1.28", "AggregatedDiscoveryEndpoint=false", false],
  ["1.29", "AllBeta=false", false],
  ["1.29", "AllBeta=false,AggregatedDiscoveryEndpoint=true", true],
  ["1.30", "AggregatedDiscoveryEndpoint=false", true],
  ["1.30", "AllBeta=false", true],
  ["1.36", "AggregatedDiscoveryEndpoint=false", true],
])("in release %s with the gates %j, aggregated discovery is served: %s", (release, featureGates, isServed) => {
  expect(resolveRelease({ release, featureGates: [featureGates] }).servesAggregatedDiscovery).toBe(isServed);
});

test.each<readonly [what: string, options: ReleaseOptions]>([
  ["an unknown release", { release: "1.2" }],
  ["an invalid runtime config", { runtimeConfig: ["batch/v1=maybe"] }],
  ["a feature gate without a value", { featureGates: ["AllAlpha"] }],
])("%s is rejected with an OptionError", (_, options) => {
  expect(() => resolveRelease(options)).toThrow(OptionError);
});

import { describe, expect, test } from "vitest";
import { openCatalog } from "../../objects/catalog/catalog.ts";
import { RELEASES } from "../../objects/catalog/release.ts";
import { parseRuntimeConfig } from "../../objects/catalog/runtime-config.ts";
import { compareApiVersions } from "./order.ts";

describe("the order of API versions", () => {
  test.each([
    [["v1alpha1", "v1beta1", "v2beta1", "v1", "v2"], "v2 v1 v2beta1 v1beta1 v1alpha1"],
    [["v1beta2", "v1beta10", "v1beta1"], "v1beta10 v1beta2 v1beta1"],
    [["v9", "v10"], "v10 v9"],
    [["foo10", "v1alpha1", "foo1", "v1"], "v1 v1alpha1 foo1 foo10"],
    [["v1gamma1", "v", "1", "v1beta", "v01", "v1"], "v01 v1 1 v v1beta v1gamma1"],
  ])("sorts %j as %s", (versions, expected) => {
    expect(versions.toSorted(compareApiVersions).join(" ")).toBe(expected);
    expect(versions.toReversed().sort(compareApiVersions).join(" ")).toBe(expected);
  });

  test.each(RELEASES)("equals the order of %s in every group", (release) => {
    const { groups } = openCatalog({ release, runtimeConfig: parseRuntimeConfig(["api/all=true"]) });
    for (const { versions } of groups) expect(versions.toSorted(compareApiVersions)).toEqual(versions);
  });
});

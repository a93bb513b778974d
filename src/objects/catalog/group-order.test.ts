import { describe, expect, test } from "vitest";
import { openCatalog } from "./catalog.ts";
import { compareGroups } from "./group-order.ts";
import { RELEASES } from "./release.ts";
import { parseRuntimeConfig } from "./runtime-config.ts";

describe("the order of groups", () => {
  test.each(RELEASES)(
    "equals the order of all groups that %s can serve, except for resource.k8s.io before 1.32",
    (release) => {
      const { groups } = openCatalog({ release, runtimeConfig: parseRuntimeConfig(["api/all=true"]) });
      const hasOldPlace = Number(release.slice("1.".length)) < 32;
      const names = groups.map(({ name }) => name).filter((name) => !(hasOldPlace && name === "resource.k8s.io"));
      expect(names.toSorted(compareGroups)).toEqual(names);
    },
  );

  test("sorts groups that no release has after all other groups, by name", () => {
    const names = ["lifecycle.k8s.io", "zoo.example.com", "apps", "", "example.com", "apiregistration.k8s.io"];
    expect(names.toSorted(compareGroups)).toEqual([
      "",
      "apiregistration.k8s.io",
      "apps",
      "lifecycle.k8s.io",
      "example.com",
      "zoo.example.com",
    ]);
  });
});

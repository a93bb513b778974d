import { describe, expect, test } from "vitest";
import { changesEncoding, appearsOrVanishes, pathApis } from "./path-apis.ts";
import { releasesBetween } from "./plan.ts";
import { loadTargets } from "./targets.ts";

const RELEASES = releasesBetween("1.33", "1.36");
const APIS = pathApis(RELEASES);

function api(group: string, version: string, resource: string): (typeof APIS)[number] {
  return APIS.find((one) => one.group === group && one.version === version && one.resource === resource)!;
}

describe("the APIs of the releases of a plan", () => {
  test("contain the releases that serve an API version that is added", () => {
    const claims = api("resource.k8s.io", "v1", "resourceclaims");
    expect(claims.servedBy).toEqual(["1.34", "1.35", "1.36"]);
    expect(appearsOrVanishes(claims, RELEASES)).toBe(true);
  });

  test("contain the stored versions of an API, and whether they change", () => {
    expect(changesEncoding(api("resource.k8s.io", "v1", "resourceclaims"))).toBe(true);
    expect(changesEncoding(api("", "v1", "configmaps"))).toBe(false);
    expect(appearsOrVanishes(api("", "v1", "configmaps"), RELEASES)).toBe(false);
  });

  test("contain the releases that serve an API version before it is removed", () => {
    const releases = releasesBetween("1.31", "1.32");
    const schemas = pathApis(releases).find(
      ({ version, resource }) => version === "v1beta3" && resource === "flowschemas",
    );
    expect(schemas).toMatchObject({ servedBy: ["1.31"], lifecycle: { removed: "1.32" } });
  });
});

describe("the resources that clients use", () => {
  const targets = loadTargets(APIS, RELEASES);
  const named = (name: string): (typeof targets)[number] | undefined =>
    targets.find(({ group, resource }) => `${group}/${resource}` === name);

  test("are a few resources of every release, and all that are added, removed or stored in another version", () => {
    expect(targets.map(({ group, resource }) => `${group}/${resource}`)).toEqual(
      expect.arrayContaining(["/configmaps", "apps/deployments", "resource.k8s.io/resourceclaims"]),
    );
    expect(named("storage.k8s.io/volumeattributesclasses")?.use).toBe("all");
    expect(named("/pods")).toBeUndefined();
  });

  test("that servers write themselves are only read", () => {
    expect(named("networking.k8s.io/servicecidrs")?.use).toBe("read");
  });

  test("include those of the user's manifests, which are templates without their names", () => {
    const object = {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "mine" },
      spec: { minAvailable: 1 },
    };
    const sampled = loadTargets(APIS, RELEASES, {
      samples: [{ apiVersion: "policy/v1", kind: "PodDisruptionBudget", object }],
    });
    const target = sampled.find(({ resource }) => resource === "poddisruptionbudgets");
    expect(target?.bodies.get("v1")).toEqual({ spec: { minAvailable: 1 } });
    expect(sampled.length).toBe(targets.length + 1);
  });

  test("are the kinds in use and those that every cluster uses, if a cluster is known", () => {
    const kinds = [
      { group: "policy", resource: "poddisruptionbudgets", count: 1023 },
      { group: "shop.example", resource: "widgets", count: 5 },
    ];
    const seeded = loadTargets(APIS, RELEASES, { kinds });
    const names = seeded.map(({ group, resource }) => `${group}/${resource}`);
    expect(names).toEqual(["/configmaps", "/secrets", "apps/deployments", "batch/jobs", "policy/poddisruptionbudgets"]);
    expect(seeded.map(({ weight }) => weight)).toEqual([1, 1, 1, 1, 11]);
  });
});

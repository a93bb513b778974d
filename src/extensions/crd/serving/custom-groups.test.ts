import { describe, expect, test } from "vitest";
import { openCatalog, type CatalogGroup, type CatalogResource } from "../../../objects/catalog/catalog.ts";
import { toCatalogResource } from "./catalog-resource.ts";
import { createCustomGroups, CUSTOM_PRIORITY, withCustomResources } from "./custom-groups.ts";
import {
  establishedDefinition,
  servedVersion,
  storedVersion,
} from "../../../../test/testing/extensions/crd/crd-object.ts";

const BUILT_IN = openCatalog({ release: "1.36" }).groups;

function custom(group: string, plural: string, versions = ["v1"]): CatalogResource {
  const [first = "", ...others] = versions;
  const spec = { group, versions: [storedVersion(first), ...others.map((name) => servedVersion(name))] };
  return toCatalogResource(establishedDefinition(spec, { plural }))!;
}

function groupOf(groups: readonly CatalogGroup[], name: string): CatalogGroup | undefined {
  return groups.find((group) => group.name === name);
}

describe("groups with custom resources", () => {
  test("come last, sorted by name, and do not change built-in groups", () => {
    const groups = withCustomResources(BUILT_IN, [custom("b.example.com", "bs"), custom("a.example.com", "as")]);
    expect(groups.slice(0, BUILT_IN.length)).toEqual(BUILT_IN);
    expect(groups.slice(BUILT_IN.length).map(({ name }) => name)).toEqual(["a.example.com", "b.example.com"]);
  });

  test("have all versions of all their resources, sorted by version", () => {
    const resources = [custom("a.example.com", "zs", ["v1beta1", "v2"]), custom("a.example.com", "as", ["v1"])];
    const group = groupOf(withCustomResources([], resources), "a.example.com");
    expect(group).toMatchObject({ versions: ["v2", "v1", "v1beta1"], preferredVersion: "v2" });
    expect(group?.resources.map(({ resource }) => resource)).toEqual(["as", "zs"]);
    expect(group?.apiServicePriorities.get("v1beta1")).toEqual(CUSTOM_PRIORITY);
  });

  test("include a built-in group if a CRD adds a resource to it", () => {
    const groups = withCustomResources(BUILT_IN, [custom("apps", "widgets", ["v1", "v9"])]);
    expect(groups).toHaveLength(BUILT_IN.length);
    const apps = groupOf(groups, "apps");
    expect(apps).toMatchObject({ versions: ["v1", "v9"], preferredVersion: "v1" });
    expect(apps?.resources.map(({ resource }) => resource)).toContain("widgets");
    expect(apps?.apiServicePriorities.get("v1")).toEqual(groupOf(BUILT_IN, "apps")?.apiServicePriorities.get("v1"));
  });

  test("stay the same objects in the same array until their resources change", () => {
    const groupsWith = createCustomGroups(BUILT_IN);
    const [a, b] = [custom("a.example.com", "as"), custom("b.example.com", "bs")];
    const first = groupsWith([a, b]);
    expect(groupsWith([a, b])).toBe(first);
    const second = groupsWith([a, custom("b.example.com", "cs")]);
    expect(groupOf(second, "a.example.com")).toBe(groupOf(first, "a.example.com"));
    expect(groupOf(second, "b.example.com")?.resources.map(({ resource }) => resource)).toEqual(["cs"]);
    expect(groupsWith([]).map(({ name }) => name)).toEqual(BUILT_IN.map(({ name }) => name));
    expect(groupOf(groupsWith([a]), "a.example.com")).toEqual(groupOf(first, "a.example.com"));
  });

  test("keep the built-in resource if a CRD defines a resource with the same name", () => {
    const apps = groupOf(withCustomResources(BUILT_IN, [custom("apps", "deployments")]), "apps");
    expect(apps?.resources).toEqual(groupOf(BUILT_IN, "apps")?.resources);
  });
});

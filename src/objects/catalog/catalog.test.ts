import { describe, expect, test } from "vitest";

import { openCatalog, type Catalog, type CatalogOptions } from "./catalog.ts";
import { catalogGateNames } from "./feature-gates.ts";
import { DEFAULT_RELEASE, isReleaseName, RELEASES, type ReleaseName } from "./release.ts";
import { parseRuntimeConfig } from "./runtime-config.ts";
import { storageVersionHash } from "./storage-version-hash.ts";
import { tableColumns } from "./table-columns.ts";

function open(release: ReleaseName, flags = "", more: Partial<CatalogOptions> = {}): Catalog {
  return openCatalog({ release, runtimeConfig: parseRuntimeConfig(flags), ...more });
}

function versionsOf(catalog: Catalog, group: string, resource: string): readonly string[] {
  return catalog.resource(group, resource)?.versions.map(({ version }) => version) ?? [];
}

describe("a release", () => {
  test("is named by its minor version", () => {
    expect(RELEASES).toHaveLength(10);
    expect(isReleaseName(DEFAULT_RELEASE)).toBe(true);
    expect(isReleaseName("1.27")).toBe(false);
    expect(isReleaseName("constructor")).toBe(false);
    expect(open("1.36").release).toEqual({ name: "1.36", major: "1", minor: "36", gitVersion: "v1.36.4" });
  });

  test("stores a resource in the storage version of the release, regardless of the versions that it serves", () => {
    const at = (release: ReleaseName): string | undefined =>
      open(release).resource("storage.k8s.io", "volumeattributesclasses")?.storageVersion;
    expect(at("1.35")).toBe("storage.k8s.io/v1beta1");
    expect(at("1.36")).toBe("storage.k8s.io/v1");
    expect(open("1.36").resource("events.k8s.io", "events")).toMatchObject({
      storageVersion: "v1",
      storagePrefix: "events",
    });
    expect(open("1.36").resource("", "services")?.storagePrefix).toBe("services/specs");
    expect(open("1.36").resource("", "bindings")).toMatchObject({
      storageVersion: undefined,
      storagePrefix: undefined,
    });
  });

  test("has its own field selectors", () => {
    const services = (release: ReleaseName) => open(release).resource("", "services")?.versions[0];
    expect(services("1.30")).toMatchObject({ fieldSelectorErrorStyle: "default" });
    expect(services("1.30")?.fieldSelectors).not.toContain("spec.type");
    expect(services("1.31")).toMatchObject({ fieldSelectorErrorStyle: "label" });
    expect(services("1.31")?.fieldSelectors).toContain("spec.type");
    expect(open("1.36").resource("batch", "jobs")?.versions[0]?.fieldSelectorErrorStyle).toBe("quoted-label");
  });

  test("reports a version as deprecated from the release of its deprecation on", () => {
    const endpoints = (release: ReleaseName) => open(release).resource("", "endpoints")?.versions[0]?.lifecycle;
    expect(endpoints("1.32")).toEqual({ introduced: "1.0" });
    expect(endpoints("1.33")).toMatchObject({ introduced: "1.0", deprecated: "1.33" });
  });

  test("declares the kind in the response of a subresource: that of the resource, or one of another group such as Scale", () => {
    const scale = open("1.36").resource("apps", "deployments")?.versions[0]?.subresources;
    expect(scale?.map(({ responseKind }) => responseKind)).toEqual([
      { group: "autoscaling", version: "v1", kind: "Scale" },
      { group: "apps", version: "v1", kind: "Deployment" },
    ]);
  });

  test("has no table columns for kinds that are never listed, and the default columns for kinds without columns of their own", () => {
    expect(tableColumns("1.36", "", "Binding")).toEqual([]);
    expect(tableColumns("1.36", "example.com", "toString").map(({ name }) => name)).toEqual(["Name", "Created At"]);
    expect(tableColumns("1.29", "batch", "Job").map(({ name }) => name)).not.toContain("Status");
    expect(tableColumns("1.30", "batch", "Job").map(({ name }) => name)).toContain("Status");
  });
});

describe("the flags of a server:", () => {
  test("a beta version is off unless it is enabled", () => {
    expect(versionsOf(open("1.36"), "coordination.k8s.io", "leasecandidates")).toEqual([]);
    expect(versionsOf(open("1.36", "api/beta=true"), "coordination.k8s.io", "leasecandidates")).toEqual(["v1beta1"]);
    expect(versionsOf(open("1.36", "api/all=true"), "coordination.k8s.io", "leasecandidates")).toEqual([
      "v1beta1",
      "v1alpha2",
    ]);
  });

  test("a group without a served version is not in the catalog", () => {
    const names = open("1.36", "batch/v1=false").groups.map(({ name }) => name);
    expect(names).not.toContain("batch");
    expect(names[0]).toBe("");
  });

  test("one resource can be enabled in a disabled group version, which the group then serves for this resource alone", () => {
    const catalog = open("1.36", "batch/v1=false,batch/v1/jobs=true");
    const batch = catalog.groups.find(({ name }) => name === "batch");
    expect(batch).toMatchObject({ versions: ["v1"], preferredVersion: "v1" });
    expect(batch?.resources.map(({ resource }) => resource)).toEqual(["jobs"]);
  });

  test("the preferred version is the first version that is served", () => {
    const autoscaling = open("1.36", "autoscaling/v2=false").groups.find(({ name }) => name === "autoscaling");
    expect(autoscaling).toMatchObject({ versions: ["v1"], preferredVersion: "v1" });
  });

  test("enabling a version that the release decodes but does not serve has no effect", () => {
    expect(open("1.36", "apps/v1beta1=true").groups.find(({ name }) => name === "apps")?.versions).toEqual(["v1"]);
    expect(open("1.36", "authentication.k8s.io/v1beta1=true").resource("authentication.k8s.io", "x")).toBeUndefined();
    expect(() => open("1.36", "autoscaling/v2beta2=true")).toThrow(
      /autoscaling\/v2beta2, which has not been registered/,
    );
    expect(() => open("1.36", "apps/v9=true")).toThrow(/apps\/v9, which has not been registered/);
    expect(() => open("1.36", "lifecycle.k8s.io/v1alpha1=true")).toThrow(/unknown api groups: lifecycle\.k8s\.io/);
    expect(() => open("1.37", "lifecycle.k8s.io/v1alpha1=true")).not.toThrow();
  });

  test("a gated resource is served only if its group version and its gate are enabled", () => {
    const gate = { featureGates: new Map([["StorageVersionMigrator", true]]) };
    const group = "storagemigration.k8s.io";
    const flag = `${group}/v1beta1=true`;
    expect(versionsOf(open("1.36", flag), group, "storageversionmigrations")).toEqual([]);
    expect(versionsOf(open("1.36", "", gate), group, "storageversionmigrations")).toEqual([]);
    expect(versionsOf(open("1.36", flag, gate), group, "storageversionmigrations")).toEqual(["v1beta1"]);
    expect(versionsOf(open("1.37"), group, "storageversionmigrations")).toEqual(["v1"]);
  });

  test("a gate can control a subresource", () => {
    const hasResize = (release: ReleaseName, gates: [string, boolean][] = []): boolean | undefined => {
      const pods = openCatalog({ release, featureGates: new Map(gates) }).resource("", "pods");
      return pods?.versions[0]?.subresources.some(({ name }) => name === "resize");
    };
    expect(hasResize("1.32")).toBe(false);
    expect(hasResize("1.33")).toBe(true);
    expect(hasResize("1.32", [["InPlacePodVerticalScaling", true]])).toBe(true);
    expect(hasResize("1.31", [["InPlacePodVerticalScaling", true]])).toBe(false);
    expect(hasResize("1.32", [["AllAlpha", true]])).toBe(true);
    expect(hasResize("1.33", [["AllBeta", false]])).toBe(false);
    expect(
      hasResize("1.33", [
        ["AllBeta", false],
        ["InPlacePodVerticalScaling", true],
      ]),
    ).toBe(true);
  });

  test("a gate that the release does not have is an error", () => {
    expect(() => openCatalog({ release: "1.34", featureGates: new Map([["GenericWorkload", true]]) })).toThrow(
      "Release 1.34 has no feature gate named GenericWorkload that controls a resource.",
    );
    expect(catalogGateNames("1.34").has("GenericWorkload")).toBe(false);
    expect(catalogGateNames("1.35").has("GenericWorkload")).toBe(true);
  });

  test("the API of storage versions, which this project adds to every release, is on by default, and --runtime-config can turn it off", () => {
    const group = "internal.apiserver.k8s.io";
    const storageVersions = (flags: string, extensions: boolean) =>
      versionsOf(open("1.28", flags, { extensions }), group, "storageversions");
    expect(storageVersions("", true)).toEqual(["v1alpha1"]);
    expect(storageVersions("", false)).toEqual([]);
    expect(storageVersions(`${group}/v1alpha1=false`, true)).toEqual([]);
    expect(storageVersions(`${group}/v1alpha1=true`, false)).toEqual(["v1alpha1"]);
  });
});

test("the storage version hash covers group, version and kind, with an empty core group", () => {
  expect(storageVersionHash("", "v1", "Pod")).toBe("xPOwRZ+Yhw8=");
  expect(storageVersionHash("", "v1", "Event")).toBe("r2yiGXH7wu8=");
  expect(storageVersionHash("apps", "v1", "Deployment")).toBe("8aSe+NMegvE=");
  expect(storageVersionHash("apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition")).toBe("jfWCUB31mvA=");
});

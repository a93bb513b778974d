import { describe, expect, test } from "vitest";
import { openCatalog } from "../../objects/catalog/catalog.ts";
import { type ReleaseName, RELEASES } from "../../objects/catalog/release.ts";
import { resolveRelease } from "../../objects/catalog/release-options.ts";
import { parseRuntimeConfig } from "../../objects/catalog/runtime-config.ts";
import { storageOfRelease, storagePlaces } from "../../objects/catalog/storage-places.ts";
import { decideReading, rollbackCheck, type Reading } from "./rollback-check.ts";
import { json, plantedStore, protobuf, walking } from "../../../test/testing/cluster/inspect/planted-store.ts";

function reading(to: ReleaseName, resource: string, apiVersion: string, runtimeConfig = ""): Reading {
  const place = storagePlaces().find((candidate) => candidate.resource === resource)!;
  const target = openCatalog({ release: to, runtimeConfig: parseRuntimeConfig(runtimeConfig), extensions: true });
  return decideReading(target, place, apiVersion);
}

describe("an object", () => {
  test.each<[to: ReleaseName, resource: string, apiVersion: string, kind: Reading["kind"]]>([
    ["1.33", "resourceclaims", "resource.k8s.io/v1", "unreadable"],
    ["1.33", "resourceclaims", "resource.k8s.io/v1beta2", "unserved"],
    ["1.33", "resourceclaims", "resource.k8s.io/v1alpha3", "unserved"],
    ["1.34", "resourceclaims", "resource.k8s.io/v1", "ok"],
    ["1.34", "resourceclaims", "resource.k8s.io/v1alpha3", "unreadable"],
    ["1.33", "mutatingadmissionpolicies", "admissionregistration.k8s.io/v1beta1", "unreadable"],
    ["1.33", "mutatingadmissionpolicies", "admissionregistration.k8s.io/v1alpha1", "unserved"],
    ["1.31", "mutatingadmissionpolicies", "admissionregistration.k8s.io/v1alpha1", "unreadable"],
    ["1.32", "ipaddresses", "networking.k8s.io/v1", "unreadable"],
    ["1.33", "ipaddresses", "networking.k8s.io/v1", "ok"],
    ["1.28", "flowschemas", "flowcontrol.apiserver.k8s.io/v1", "unreadable"],
    ["1.29", "flowschemas", "flowcontrol.apiserver.k8s.io/v1", "ok"],
    ["1.30", "endpointslices", "discovery.k8s.io/v1", "ok"],
    ["1.36", "horizontalpodautoscalers", "autoscaling/v2beta2", "unreadable"],
    ["1.35", "podgroups", "scheduling.k8s.io/v1alpha2", "unreadable"],
    ["1.30", "events", "events.k8s.io/v1", "ok"],
    ["1.28", "storageversions", "internal.apiserver.k8s.io/v1alpha1", "ok"],
    ["1.36", "pods", "example.com/v1", "unreadable"],
  ])("read by a server of %s, of the resource %s and stored in %s, is %s", (to, resource, apiVersion, kind) => {
    expect(reading(to, resource, apiVersion).kind).toBe(kind);
  });

  test.each(RELEASES)("that a server of %s wrote is readable to servers of the same release", (release) => {
    const target = openCatalog({ release });
    for (const place of storagePlaces()) {
      const storage = storageOfRelease(place, release);
      if (storage === undefined) continue;
      expect(decideReading(target, place, storage.storageVersion).kind).not.toBe("unreadable");
    }
  });

  test("that cannot be read or is not served is reported with the reason", () => {
    expect(reading("1.33", "resourceclaims", "resource.k8s.io/v1")).toMatchObject({
      reason: "Kubernetes 1.33 reads resourceclaims.resource.k8s.io in v1beta1, v1beta2, v1alpha3, not in v1",
    });
    expect(reading("1.28", "servicecidrs", "networking.k8s.io/v1")).toMatchObject({
      reason: "Kubernetes 1.28 does not know servicecidrs.networking.k8s.io",
    });
    expect(reading("1.33", "resourceclaims", "resource.k8s.io/v1beta1")).toMatchObject({
      reason: "Kubernetes 1.33 reads resourceclaims.resource.k8s.io, but serves no version of it by default",
    });
  });

  test("is served if the flags of the server enable a version of its resource", () => {
    const reported = reading("1.33", "resourceclaims", "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2=true");
    expect(reported).toEqual({ kind: "ok" });
    expect(reading("1.36", "jobs", "batch/v1", "batch/v1=false").kind).toBe("unserved");
  });
});

describe("a rollback from 1.37 to 1.36", () => {
  const before = openCatalog({ release: "1.36" });

  test("leaves no object unreadable that 1.37 wrote, of a resource that 1.36 serves by default", () => {
    const checked = storagePlaces().flatMap((place) => {
      const written = storageOfRelease(place, "1.37")?.storageVersion;
      if (written === undefined || before.resource(place.group, place.resource) === undefined) return [];
      expect(decideReading(before, place, written), place.resource).toEqual({ kind: "ok" });
      return [place];
    });
    expect(checked.length).toBeGreaterThan(50);
  });

  test("leaves objects unreadable that have no version but alpha in 1.36, even if 1.37 emulated 1.36", () => {
    const place = storagePlaces().find(({ resource }) => resource === "workloads")!;
    for (const options of [{}, { emulatedVersion: ["1.36"] }]) {
      const { catalog } = resolveRelease({ release: "1.37", ...options });
      const written = storageOfRelease(place, catalog.release.name, catalog.emulation)!.storageVersion;
      expect(written).toBe("scheduling.k8s.io/v1beta1");
      expect(decideReading(before, place, written)).toEqual({
        kind: "unreadable",
        reason: "Kubernetes 1.36 reads workloads.scheduling.k8s.io in v1alpha2, not in v1beta1",
      });
    }
  });
});

describe("a server of 1.37 that emulates 1.35", () => {
  const target = resolveRelease({ release: "1.37", emulatedVersion: ["1.35"] }).catalog;
  const place = storagePlaces().find(({ resource }) => resource === "mutatingadmissionpolicies")!;

  test("reads every version that 1.37 reads, but serves only what 1.35 serves", () => {
    expect(openCatalog({ release: "1.35" }).resource(place.group, place.resource)).toBeUndefined();
    for (const version of ["v1", "v1beta1", "v1alpha1"])
      expect(decideReading(target, place, `admissionregistration.k8s.io/${version}`)).toEqual({
        kind: "unserved",
        reason:
          "Kubernetes 1.37 as 1.35 reads mutatingadmissionpolicies.admissionregistration.k8s.io, but serves no version of it by default",
      });
    expect(decideReading(target, place, "admissionregistration.k8s.io/v2").kind).toBe("unreadable");
  });

  test("is named with both releases by a check", async () => {
    const kv = await plantedStore({ "mutatingadmissionpolicies/a": json("admissionregistration.k8s.io/v1") });
    const check = await rollbackCheck({ ...walking(kv), release: "1.37", target });
    expect(check).toMatchObject({ release: "1.37", to: "1.37 as 1.35", findings: [{ problem: "unserved" }] });
  });
});

describe("a check of a store", () => {
  test("lists objects that the release could not read or would not serve, unreadable ones first, and values that no release can read", async () => {
    const kv = await plantedStore({
      "configmaps/default/c": protobuf("v1"),
      "deviceclasses/gpu": json("resource.k8s.io/v1beta1"),
      "resourceclaims/b/two": protobuf("resource.k8s.io/v1"),
      "resourceclaims/a/one": json("resource.k8s.io/v1"),
      "secrets/default/broken": Buffer.from("nonsense"),
      "example.com/widgets/w": json("example.com/v1"),
      "masterleases/10.0.0.1": json("v1"),
    });
    const check = await rollbackCheck({
      ...walking(kv),
      release: "1.36",
      target: openCatalog({ release: "1.33" }),
    });
    expect(check).toMatchObject({
      kind: "RollbackCheck",
      release: "1.36",
      to: "1.33",
      objects: 4,
      privateKeys: 1,
      unknown: [{ prefix: "example.com/widgets", keys: 1 }],
      broken: [{ group: "", resource: "secrets", count: 1, names: [{ namespace: "default", name: "broken" }] }],
    });
    expect(check.findings).toEqual([
      {
        problem: "unreadable",
        group: "resource.k8s.io",
        resource: "resourceclaims",
        storedVersion: "resource.k8s.io/v1",
        reason: expect.stringContaining("not in v1"),
        count: 2,
        names: [
          { namespace: "a", name: "one" },
          { namespace: "b", name: "two" },
        ],
      },
      {
        problem: "unserved",
        group: "resource.k8s.io",
        resource: "deviceclasses",
        storedVersion: "resource.k8s.io/v1beta1",
        reason: expect.any(String),
        count: 1,
        names: [{ name: "gpu" }],
      },
    ]);
  });

  test("lists a limited number of names and counts the rest", async () => {
    const many = (prefix: string, apiVersion: string): Record<string, Buffer> =>
      Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`${prefix}/${index}`, json(apiVersion)]));
    const versions = Array.from({ length: 12 }, (_, index) => `v9${index}`);
    const kv = await plantedStore(
      Object.assign({}, ...versions.map((version) => many(`pods/${version}`, version))) as Record<string, Buffer>,
    );
    const target = openCatalog({ release: "1.36" });
    const { findings } = await rollbackCheck({ ...walking(kv), release: "1.36", target });
    expect(findings.map(({ count }) => count)).toEqual(versions.map(() => 150));
    expect(Math.max(...findings.map(({ names }) => names.length))).toBe(100);
    expect(findings.reduce((sum, { names }) => sum + names.length, 0)).toBe(1_000);
  });
});

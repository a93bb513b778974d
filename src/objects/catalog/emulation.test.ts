import { describe, expect, test } from "vitest";
import { openCatalog, type Catalog, type CatalogOptions } from "./catalog.ts";
import type { Emulation } from "./emulation.ts";
import { RELEASES, type ReleaseName } from "./release.ts";
import { parseRuntimeConfig } from "./runtime-config.ts";
import { storageOfRelease, storagePlaceOf, storagePlaces } from "./storage-places.ts";

interface Emulating extends Partial<Emulation> {
  readonly runtimeConfig?: string;
}

const NOT_FORWARD = { isForwardCompatible: false, isRuntimeConfigForwardCompatible: false };

function releaseBefore(release: ReleaseName): ReleaseName {
  return RELEASES[RELEASES.indexOf(release) - 1]!;
}

function emulating(release: ReleaseName, binary: ReleaseName, parts: Emulating = {}): Catalog {
  const { runtimeConfig = "", ...emulation } = parts;
  const options: CatalogOptions = {
    release,
    runtimeConfig: parseRuntimeConfig(runtimeConfig),
    emulation: {
      binary,
      minCompatibility: releaseBefore(release),
      ...NOT_FORWARD,
      ...emulation,
    },
  };
  return openCatalog(options);
}

function served({ groups }: Catalog): string[] {
  return groups.flatMap(({ name, resources }) =>
    resources.flatMap(({ resource, versions }) =>
      versions.flatMap(({ version, verbs, subresources }) => [
        `${name}/${version} ${resource} ${verbs.join()} ${subresources.map((below) => below.name).join()}`,
      ]),
    ),
  );
}

const PAIRS: readonly (readonly [emulated: ReleaseName, binary: ReleaseName])[] = [
  ["1.31", "1.33"],
  ["1.33", "1.34"],
  ["1.33", "1.36"],
  ["1.34", "1.36"],
  ["1.35", "1.36"],
  ["1.36", "1.37"],
];

describe.each(PAIRS)("%s emulated by %s", (emulated, binary) => {
  const own = openCatalog({ release: emulated });
  const as = emulating(emulated, binary);

  test("serves the resources of the emulated release", () => {
    expect(served(as).toSorted()).toEqual(served(own).toSorted());
    expect(as.release.name).toBe(emulated);
  });

  test("decodes every version that the binary decodes, and writes versions that the emulated release and its predecessor can decode", () => {
    const later = openCatalog({ release: binary });
    const before = openCatalog({ release: releaseBefore(emulated) });
    for (const { group, resource, storageVersion, decodableVersions } of as.groups.flatMap((one) => one.resources)) {
      if (storageVersion === undefined) continue;
      const name = `${group}/${resource}`;
      expect(decodableVersions, name).toContain(storageVersion);
      expect(own.resource(group, resource)?.decodableVersions, name).toContain(storageVersion);
      for (const version of later.resource(group, resource)?.decodableVersions ?? [])
        expect(decodableVersions, name).toContain(version);
      const readBefore = before.resource(group, resource)?.decodableVersions;
      if (readBefore !== undefined) expect(readBefore, name).toContain(storageVersion);
    }
  });

  test("has the schema of every v1 that it can decode", () => {
    for (const { decodableVersions, versions } of as.groups.flatMap((one) => one.resources)) {
      for (const groupVersion of decodableVersions.filter((one) => one.endsWith("/v1") || one === "v1")) {
        const [group, version] = groupVersion === "v1" ? ["", "v1"] : groupVersion.split("/");
        expect(as.schemas.kind(group!, version!, versions[0]!.kind), groupVersion).toBeDefined();
      }
    }
  });
});

/** A row: emulated release, minimum compatibility version, the version in which objects are written. */
type Written = readonly [emulated: ReleaseName, oldest: ReleaseName, written: string];

/** By binary and resource, from the sources of kubernetes. test/real-peers/emulated-versions.test.ts asks real servers. */
const STORAGE: readonly (readonly [binary: ReleaseName, resource: string, ...rows: Written[]])[] = [
  [
    "1.36",
    "resource.k8s.io/deviceclasses",
    ["1.36", "1.35", "v1"],
    ["1.36", "1.34", "v1"],
    ["1.36", "1.33", "v1beta2"],
    ["1.33", "1.33", "v1beta2"],
  ],
  [
    "1.36",
    "storage.k8s.io/volumeattributesclasses",
    ["1.36", "1.34", "v1"],
    ["1.36", "1.33", "v1beta1"],
    ["1.34", "1.33", "v1beta1"],
  ],
  ["1.36", "apps/deployments", ["1.36", "1.33", "v1"]],
  // An override of the binary comes before the versions.
  [
    "1.36",
    "admissionregistration.k8s.io/mutatingadmissionpolicies",
    ["1.36", "1.35", "v1beta1"],
    ["1.36", "1.36", "v1beta1"],
  ],
  [
    "1.37",
    "admissionregistration.k8s.io/mutatingadmissionpolicies",
    ["1.37", "1.37", "v1"],
    ["1.37", "1.36", "v1"],
    ["1.37", "1.35", "v1beta1"],
    ["1.36", "1.35", "v1beta1"],
    ["1.36", "1.36", "v1"],
  ],
  [
    "1.37",
    "storagemigration.k8s.io/storageversionmigrations",
    ["1.37", "1.36", "v1beta1"],
    ["1.37", "1.37", "v1beta1"],
    ["1.36", "1.35", "v1beta1"],
  ],
  ["1.37", "resource.k8s.io/devicetaintrules", ["1.37", "1.37", "v1beta2"], ["1.35", "1.34", "v1beta2"]],
];

describe("the storage version of a resource", () => {
  const CASES = STORAGE.flatMap(([binary, name, ...rows]) =>
    rows.map(([emulated, oldest, written]) => ({ binary, name, emulated, oldest, written })),
  );

  test.each(CASES)(
    "$name of a server of $binary that emulates $emulated, with minimum compatibility version $oldest, is $written",
    ({ binary, name, emulated, oldest: minCompatibility, written }) => {
      const [group, resource] = name.split("/") as [string, string];
      const place = storagePlaceOf(group, resource)!;
      const emulation = { ...NOT_FORWARD, binary, minCompatibility };
      expect(storageOfRelease(place, emulated, emulation)?.storageVersion).toBe(`${group}/${written}`);
    },
  );

  const EMULATING = RELEASES.slice(RELEASES.indexOf("1.31"));
  test.each(EMULATING)("of a server that emulates its own release %s is the one without emulation", (release) => {
    const emulation = { ...NOT_FORWARD, binary: release, minCompatibility: releaseBefore(release) };
    const versions = storagePlaces().map((place) => {
      const [plain, emulated] = [storageOfRelease(place, release), storageOfRelease(place, release, emulation)];
      expect(emulated?.storageVersion, place.resource).toBe(plain?.storageVersion);
      return plain?.storageVersion;
    });
    expect(versions.filter((version) => version !== undefined).length).toBeGreaterThan(50);
  });

  test("of 1.37 is one that 1.36 can read, if 1.36 has a version that is not alpha", () => {
    const kept = storagePlaces().flatMap((place) => {
      const [before, now] = [storageOfRelease(place, "1.36"), storageOfRelease(place, "1.37")];
      if (before === undefined || now === undefined || before.decodableVersions.every((one) => one.includes("alpha")))
        return [];
      expect(before.decodableVersions, place.resource).toContain(now.storageVersion);
      return [place.resource];
    });
    expect(kept.length).toBeGreaterThan(50);
  });
});

describe("with forward compatibility", () => {
  const DRA = "resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true";
  const versionsOf = (catalog: Catalog, resource: string): string[] | undefined =>
    catalog.resource("resource.k8s.io", resource)?.versions.map(({ version }) => version);

  test("a later version of a served resource is served, and listed first", () => {
    const plain = emulating("1.33", "1.34", { runtimeConfig: DRA });
    expect(versionsOf(plain, "deviceclasses")).toEqual(["v1beta2", "v1beta1"]);
    const forward = emulating("1.33", "1.34", { runtimeConfig: DRA, isForwardCompatible: true });
    expect(versionsOf(forward, "deviceclasses")?.toSorted()).toEqual(["v1", "v1beta1", "v1beta2"]);
    expect(forward.groups.find(({ name }) => name === "resource.k8s.io")?.apiServicePriorities.has("v1")).toBe(true);
    expect(forward.resource("resource.k8s.io", "deviceclasses")?.storageVersion).not.toBe("resource.k8s.io/v1");
  });

  test("no version is added for a resource that is not served, or if the runtime config disables that version", () => {
    const forward = { isForwardCompatible: true };
    expect(versionsOf(emulating("1.33", "1.34", forward), "deviceclasses")).toBeUndefined();
    const off = `${DRA},resource.k8s.io/v1=false`;
    expect(versionsOf(emulating("1.33", "1.34", { ...forward, runtimeConfig: off }), "deviceclasses")).toEqual([
      "v1beta2",
      "v1beta1",
    ]);
  });

  test("the runtime config may name later versions only with --runtime-config-emulation-forward-compatible", () => {
    const named = "resource.k8s.io/v1=true";
    expect(() => emulating("1.33", "1.34", { runtimeConfig: named })).toThrow(
      "cannot enable version resource.k8s.io/v1 in runtime-config because all the resources have been introduced after " +
        "the current version 1.33. Consider setting --runtime-config-emulation-forward-compatible=true",
    );
    expect(() => emulating("1.33", "1.34", { runtimeConfig: "resource.k8s.io/v1/deviceclasses=true" })).toThrow(
      "cannot enable resource resource.k8s.io/v1, Resource=deviceclasses in runtime-config because it is introduced at " +
        "1.34 after the current version 1.33. Consider setting --runtime-config-emulation-forward-compatible=true",
    );
    const allowed = emulating("1.33", "1.34", { runtimeConfig: named, isRuntimeConfigForwardCompatible: true });
    expect(versionsOf(allowed, "deviceclasses")).toEqual(["v1"]);
    const one = { runtimeConfig: "resource.k8s.io/v1/deviceclasses=true", isRuntimeConfigForwardCompatible: true };
    expect(versionsOf(emulating("1.33", "1.34", one), "deviceclasses")).toEqual(["v1"]);
    expect(versionsOf(emulating("1.33", "1.34", one), "resourceclaims")).toBeUndefined();
  });

  test("the runtime config may not name group versions that the binary does not have", () => {
    expect(() => emulating("1.33", "1.34", { runtimeConfig: "nothing.example.com/v1=true" })).toThrow("unknown");
  });
});

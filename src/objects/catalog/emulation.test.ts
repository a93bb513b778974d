import { describe, expect, test } from "vitest";
import { openCatalog, type Catalog, type CatalogOptions } from "./catalog.ts";
import type { Emulation } from "./emulation.ts";
import { RELEASES, type ReleaseName } from "./release.ts";
import { parseRuntimeConfig } from "./runtime-config.ts";

interface Emulating extends Partial<Emulation> {
  readonly runtimeConfig?: string;
}

function emulating(release: ReleaseName, binary: ReleaseName, parts: Emulating = {}): Catalog {
  const { runtimeConfig = "", ...emulation } = parts;
  const options: CatalogOptions = {
    release,
    runtimeConfig: parseRuntimeConfig(runtimeConfig),
    emulation: {
      binary,
      minCompatibility: RELEASES[RELEASES.indexOf(release) - 1]!,
      isForwardCompatible: false,
      isRuntimeConfigForwardCompatible: false,
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
    const before = openCatalog({ release: RELEASES[RELEASES.indexOf(emulated) - 1]! });
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

describe("the minimum compatibility version determines the storage version:", () => {
  const CASES: readonly [resource: string, emulated: ReleaseName, oldest: ReleaseName, written: string][] = [
    ["admissionregistration.k8s.io/mutatingadmissionpolicies", "1.36", "1.35", "v1beta1"],
    ["admissionregistration.k8s.io/mutatingadmissionpolicies", "1.36", "1.36", "v1"],
    ["resource.k8s.io/deviceclasses", "1.36", "1.34", "v1"],
    ["resource.k8s.io/deviceclasses", "1.36", "1.33", "v1beta2"],
    ["storage.k8s.io/volumeattributesclasses", "1.36", "1.34", "v1"],
    ["storage.k8s.io/volumeattributesclasses", "1.36", "1.33", "v1beta1"],
    ["apps/deployments", "1.36", "1.33", "v1"],
  ];

  test.each(CASES)(
    "%s in emulated release %s with minimum compatibility version %s is stored as %s",
    (name, emulated, minCompatibility, version) => {
      const [group, resource] = name.split("/") as [string, string];
      const found = emulating(emulated, "1.36", { minCompatibility }).resource(group, resource);
      expect(found?.storageVersion).toBe(`${group}/${version}`);
    },
  );
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

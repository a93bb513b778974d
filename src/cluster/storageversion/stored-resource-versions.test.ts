import { describe, expect, test } from "vitest";
import { openCatalog, type Catalog } from "../../objects/catalog/catalog.ts";
import { RELEASES } from "../../objects/catalog/release.ts";
import { parseRuntimeConfig } from "../../objects/catalog/runtime-config.ts";
import { isConvertible } from "../../objects/conversion/convert.ts";
import { parseGroupVersion } from "../../meta/group-version.ts";
import { storedResourceVersions } from "./stored-resource-versions.ts";

function of(release: (typeof RELEASES)[number]): Catalog {
  return openCatalog({ release, extensions: true });
}

test("resources are sorted by group and name, the core group first", () => {
  const names = storedResourceVersions(of("1.36")).map(({ group, resource }) => `${group} ${resource}`);
  expect(names).toEqual([...names].sort());
  expect(names[0]).toBe(" configmaps");
});

test("resources that share a storage prefix are one item, under the name of the first", () => {
  const versions = storedResourceVersions(of("1.36"));
  expect(versions.filter(({ resource }) => resource === "events")).toEqual([
    {
      ...{ name: "core.events", group: "", resource: "events", preferred: "v1" },
      aliases: [
        { group: "", resource: "events" },
        { group: "events.k8s.io", resource: "events" },
      ],
      ...{ decodable: ["v1", "events.k8s.io/v1"], served: ["v1"], isNeededToPublish: false },
    },
  ]);
});

test("resources that share a storage prefix are named after the first, even if only the other one is served", () => {
  const runtimeConfig = parseRuntimeConfig(["v1=false"]);
  const versions = storedResourceVersions(openCatalog({ release: "1.36", runtimeConfig, extensions: true }));
  expect(versions.filter(({ resource }) => resource === "events")).toMatchObject([
    {
      name: "core.events",
      aliases: [{ group: "events.k8s.io", resource: "events" }],
      decodable: ["v1", "events.k8s.io/v1"],
      served: ["events.k8s.io/v1"],
    },
  ]);
});

test("a resource that is never stored has no storage version", () => {
  const names = storedResourceVersions(of("1.36")).map(({ name }) => name);
  for (const absent of ["core.bindings", "core.componentstatuses", "authorization.k8s.io.subjectaccessreviews"])
    expect(names).not.toContain(absent);
  expect(names).toContain("internal.apiserver.k8s.io.storageversions");
});

describe.each(RELEASES)("release %s", (release) => {
  test("reads the versions that it writes, serves only versions that it can read, and can convert between them", () => {
    const catalog = openCatalog({ release, extensions: true });
    for (const { name, group, resource, preferred, decodable, served } of storedResourceVersions(catalog)) {
      expect(decodable, name).toContain(preferred);
      expect(new Set(decodable).size, name).toBe(decodable.length);
      for (const version of served) expect(decodable, name).toContain(version);
      const { kind } = catalog.resource(group, resource)!.versions[0]!;
      for (const version of decodable)
        for (const shown of served)
          expect(
            isConvertible(kind, parseGroupVersion(version), parseGroupVersion(shown)),
            `${name}: ${version} to ${shown}`,
          ).toBe(true);
    }
  });
});

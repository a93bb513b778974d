/**
 * Compares the catalog with one golden file per release, which lists the resources of the release. If the release facts
 * from which the catalog was compiled are on this machine, the tests also check that the catalog equals them.
 * UPDATE_GOLDEN=1 rewrites the golden files.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

import { describe, expect, test } from "vitest";

import {
  ALL_VERBS,
  openCatalog,
  type Catalog,
  type CatalogResource,
  type CatalogVersion,
} from "../src/objects/catalog/catalog.ts";
import { catalogGateNames } from "../src/objects/catalog/feature-gates.ts";
import { RELEASES, type ReleaseName } from "../src/objects/catalog/release.ts";
import { parseRuntimeConfig } from "../src/objects/catalog/runtime-config.ts";
import { modelName } from "../src/objects/catalog/schema-source.ts";
import { tableColumns } from "../src/objects/catalog/table-columns.ts";
import type { FieldSchema } from "../src/objects/schema.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const factsDirectory = join(root, "..", "shared", "facts");
const hasFacts = existsSync(join(factsDirectory, "resources.json"));
if (!hasFacts)
  console.info("The release facts are not on this machine: only the golden files are compared with the catalog.");

describe("the catalog has golden files:", () => {
  test.each(RELEASES)("release %s serves the resources in its golden file", (release) => {
    const path = join(root, "test/golden/releases", `${release}.txt`);
    const text = describeRelease(release);
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(path, text);
    expect(text).toBe(readFileSync(path, "utf8"));
  });
});

function describeRelease(release: ReleaseName): string {
  const strict = openCatalog({ release });
  const extended = openCatalog({ release, extensions: true });
  const counts = countsOf(strict);
  const served = new Set(describeGroups(strict));
  const added = describeGroups(extended).filter((section) => !served.has(section));
  return (
    [
      `Kubernetes ${release} (${strict.release.gitVersion}) without flags`,
      `${counts.groups} groups, ${counts.groupVersions} group versions, ${counts.gvrs} resources, ${counts.subresources} subresources`,
      `verbs are ${ALL_VERBS.join(",")} where none are shown`,
      ...served,
      "Added by Evenkeel to every release, unless --strict-release is given",
      ...added,
    ].join("\n\n") + "\n"
  );
}

function describeGroups(catalog: Catalog): string[] {
  return catalog.groups.flatMap((group) =>
    group.versions.map((version) => {
      const priority = group.apiServicePriorities.get(version);
      const priorities = priority ? ` (priority ${priority.groupPriorityMinimum}, ${priority.versionPriority})` : "";
      const preferred = version === group.preferredVersion ? "" : ", not preferred";
      const lines = group.resources.flatMap((resource) => {
        const served = resource.versions.find((candidate) => candidate.version === version);
        return served ? describeResource(resource, served) : [];
      });
      return [`${groupVersionOf(group.name, version)}${priorities}${preferred}`, ...lines].join("\n");
    }),
  );
}

function describeResource(resource: CatalogResource, served: CatalogVersion): string[] {
  const { introduced, deprecated, removed, replacement } = served.lifecycle ?? {};
  const facts: [string, string | undefined][] = [
    ["short", resource.shortNames.join(",")],
    ["categories", resource.categories.join(",")],
    ["verbs", served.verbs.join() === ALL_VERBS.join() ? "" : served.verbs.join(",")],
    ["introduced", introduced],
    ["deprecated", deprecated],
    ["removed", removed],
    ["replacement", replacement && `${groupVersionOf(replacement.group, replacement.version)}/${replacement.kind}`],
    ["selectors", served.fieldSelectorErrorStyle === "default" ? "" : served.fieldSelectors.join(",")],
  ];
  const scope = resource.namespaced ? "namespaced" : "cluster";
  const stored =
    resource.storageVersion === undefined
      ? "not stored"
      : `stored as ${resource.storageVersion} in ${resource.storagePrefix}, reads ${resource.decodableVersions.join(",")}`;
  const details = facts.flatMap(([name, value]) => (value ? [`${name}=${value}`] : []));
  const subresources = served.subresources.map(({ name, verbs, responseKind }) => {
    const kind = `${groupVersionOf(responseKind.group, responseKind.version)}/${responseKind.kind}`;
    return `    ${resource.resource}/${name} ${kind} verbs=${verbs.join(",")}`;
  });
  const line = [`${resource.resource} ${served.kind} (${resource.singular}), ${scope}, ${stored}`, ...details].join(
    "; ",
  );
  return [`  ${line}`, ...subresources];
}

function groupVersionOf(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

function countsOf(catalog: Catalog): Record<"groups" | "groupVersions" | "gvrs" | "subresources", number> {
  const versions = catalog.groups.flatMap((group) => group.resources.flatMap((resource) => resource.versions));
  return {
    groups: catalog.groups.length,
    groupVersions: catalog.groups.flatMap((group) => group.versions).length,
    gvrs: versions.length,
    subresources: versions.flatMap((version) => version.subresources).length,
  };
}

/** The parts of the release facts that these tests read, in the format of the facts. */
type ByRelease<Value> = Record<string, Value>;
interface Facts {
  readonly resources: {
    tags: ByRelease<string>;
    counts: ByRelease<Record<string, number>>;
    groupOrder: ByRelease<string[]>;
    groups: Record<string, { versionOrder: string[] | ByRelease<string[]>; preferred: string | ByRelease<string> }>;
    resources: FactResource[];
  };
  readonly decodable: Record<string, string[] | ByRelease<string[]>>;
  readonly selectors: {
    resources: { group: string; version: string; resource: string; fields: string[]; error?: string }[];
    changes: Record<string, [string, string[]][]>;
  };
  readonly tables: {
    default: { resources: { group: string; kind: string }[] };
    kinds: {
      group: string;
      kind: string;
      columns: { name: string; type: string; format?: string; priority: number }[];
    }[];
    columnChanges: Record<string, [string, [string, string, string, number][] | null][]>;
  };
  readonly schemas: {
    prefixes: [string, string][];
    gvk: Record<string, string>;
    types: Record<string, [string, FactType | null][]>;
  };
}

interface Kind {
  group: string;
  version: string;
  kind: string;
}

interface FactResource {
  group: string;
  resource: string;
  singular: string;
  namespaced: boolean;
  shortNames: string[];
  categories: string[];
  kind: Record<string, string>;
  etcdPrefix?: string;
  storageVersion: ByRelease<string> | null;
  versions: Record<string, { verbs: string[]; defaultOn: ByRelease<boolean> }>;
  subresources: {
    name: string;
    verbs: string[];
    responseKind: Kind;
    versions: Record<string, { since: string; until: string | null }>;
  }[];
}

type FactField = Record<string, unknown> & { ref?: string; type?: string; items?: FactField; map?: FactField };
type FactType = FactField & { fields?: Record<string, FactField> };

function readFacts(): Facts {
  const read = (file: string): unknown => JSON.parse(readFileSync(join(factsDirectory, file), "utf8"));
  const store = gunzipSync(readFileSync(join(factsDirectory, "schema/store.json.gz"))).toString();
  return {
    resources: read("resources.json"),
    decodable: read("decodable-versions.json"),
    selectors: read("field-selectors.json"),
    tables: read("table-columns.json"),
    schemas: JSON.parse(store),
  } as Facts;
}

function openEverything(release: ReleaseName): Catalog {
  const featureGates = new Map([...catalogGateNames(release)].map((name) => [name, true]));
  return openCatalog({ release, runtimeConfig: parseRuntimeConfig("api/all=true"), featureGates });
}

function pointAt<Value>(points: [string, Value][], release: string): Value | undefined {
  return points.filter(([since]) => since <= release).at(-1)?.[1];
}

function perRelease<Value extends string | string[]>(
  fact: Value | ByRelease<Value>,
  release: string,
): Value | undefined {
  if (typeof fact === "string" || Array.isArray(fact)) return fact as Value;
  return fact[release];
}

describe.skipIf(!hasFacts)("the catalog equals the release facts:", () => {
  const facts = hasFacts ? readFacts() : (undefined as unknown as Facts);

  test.each(RELEASES)("release %s has the same number of groups, versions, resources and subresources", (release) => {
    const counts = facts.resources.counts[release] ?? {};
    const { groups, groupVersions, gvrs, subresources } = counts;
    expect(openCatalog({ release }).release.gitVersion).toBe(facts.resources.tags[release]);
    expect(countsOf(openEverything(release))).toEqual({ groups, groupVersions, gvrs, subresources });
    expect(countsOf(openCatalog({ release }))).toEqual({
      groups: counts["defaultOnGroups"],
      groupVersions: counts["defaultOnGroupVersions"],
      gvrs: counts["defaultOnGvrs"],
      subresources: counts["defaultOnSubresources"],
    });
  });

  test.each(RELEASES)("release %s has its groups and versions in the order of the facts", (release) => {
    const catalog = openEverything(release);
    expect(catalog.groups.map(({ name }) => name)).toEqual(
      pointAt(Object.entries(facts.resources.groupOrder), release),
    );
    for (const { name, versions, preferredVersion } of catalog.groups) {
      const group = facts.resources.groups[name];
      expect([name, versions]).toEqual([name, group && perRelease(group.versionOrder, release)]);
      expect([name, preferredVersion]).toEqual([name, group && perRelease(group.preferred, release)]);
    }
  });

  test.each(RELEASES)("release %s serves and stores every resource as the facts describe", (release) => {
    const [everything, byDefault] = [openEverything(release), openCatalog({ release })];
    for (const fact of facts.resources.resources) {
      const { group, resource } = fact;
      const servable = Object.keys(fact.versions).filter(
        (version) => release in (fact.versions[version]?.defaultOn ?? {}),
      );
      const actual = everything.resource(group, resource);
      expect([group, resource, new Set(actual?.versions.map(({ version }) => version))]).toEqual([
        group,
        resource,
        new Set(servable),
      ]);
      const on = servable.filter((version) => fact.versions[version]?.defaultOn[release]);
      const actualOn = byDefault.resource(group, resource)?.versions.map(({ version }) => version) ?? [];
      expect([group, resource, new Set(actualOn)]).toEqual([group, resource, new Set(on)]);
      if (actual !== undefined) expectSameResource(actual, fact, release);
    }
  });

  function expectSameResource(actual: CatalogResource, fact: FactResource, release: ReleaseName): void {
    const { group, resource, singular, namespaced, shortNames, categories } = fact;
    // DIFFERS: kubernetes stores CRDs as v1beta1, Evenkeel stores them as v1.
    const isDefinition = group === "apiextensions.k8s.io" && resource === "customresourcedefinitions";
    const storageVersion = isDefinition ? "apiextensions.k8s.io/v1" : fact.storageVersion?.[release];
    const decodable = facts.decodable[`${group || "core"}.${resource}`] ?? [];
    const storagePrefix = storageVersion === undefined ? undefined : (fact.etcdPrefix ?? resource);
    expect(actual).toMatchObject({
      group,
      resource,
      singular,
      namespaced,
      shortNames,
      categories,
      storageVersion,
      storagePrefix,
    });
    expect([resource, actual.decodableVersions]).toEqual([resource, perRelease(decodable, release) ?? []]);
    for (const served of actual.versions) {
      const { version, kind, verbs, subresources } = served;
      expect([kind, verbs]).toEqual([fact.kind[version], fact.versions[version]?.verbs]);
      const expected = fact.subresources.filter((subresource) => {
        const range = subresource.versions[version];
        return range && range.since.replace("<=", "") <= release && release <= (range.until ?? release);
      });
      const resolved = expected.map(({ name, verbs: allowed, responseKind }) => {
        const kindVersion = responseKind.version === "*" ? version : responseKind.version;
        return { name, verbs: allowed, responseKind: { ...responseKind, version: kindVersion } };
      });
      expect([resource, subresources]).toEqual([resource, resolved]);
      if (verbs.includes("list")) expectSameSelectors({ group, resource, served, release });
    }
  }

  function expectSameSelectors(of: {
    group: string;
    resource: string;
    served: CatalogVersion;
    release: ReleaseName;
  }): void {
    const { group, resource, served, release } = of;
    const changes = facts.selectors.changes[`${groupVersionOf(group, served.version)}/${resource}`];
    const described = facts.selectors.resources.find(
      (fact) => fact.group === group && fact.resource === resource && fact.version === served.version,
    );
    const fields = (changes && pointAt(changes, release)) ??
      described?.fields ?? ["metadata.name", "metadata.namespace"];
    expect([resource, served.fieldSelectors]).toEqual([resource, fields]);
    if (release === "1.36")
      expect([resource, served.fieldSelectorErrorStyle === "default"]).toEqual([
        resource,
        described?.error === undefined,
      ]);
  }

  test.each(RELEASES)("release %s has the table columns of the facts", (release) => {
    const { kinds, columnChanges, default: byDefault } = facts.tables;
    const plain = byDefault.resources.map(({ group, kind }) => `${group}/${kind}`);
    for (const { group, kind, columns } of kinds) {
      const key = `${group}/${kind}`;
      if (plain.includes(key)) continue;
      const now = columns.map(({ name, type, format = "", priority }) => [name, type, format, priority]);
      const expected = key in columnChanges ? pointAt(columnChanges[key] ?? [], release) : now;
      const actual = tableColumns(release, group, kind).map(({ name, type, format, priority }) => [
        name,
        type,
        format,
        priority,
      ]);
      if (expected) expect([key, actual]).toEqual([key, expected]);
      if (release === "1.36") expect([key, actual]).toEqual([key, now]);
    }
  });

  test.each(RELEASES)("release %s has every schema type and field of the facts, and no others", (release) => {
    const { schemas } = openCatalog({ release });
    const structs = new Set<string>();
    for (const [short, points] of Object.entries(facts.schemas.types)) {
      const type = pointAt(points, release) ?? undefined;
      const struct = schemas.struct(fullName(short));
      const isStruct =
        type !== undefined && (type.fields !== undefined || (type.type === "object" && !type["preserveUnknown"]));
      expect([short, struct !== undefined]).toEqual([short, isStruct]);
      if (struct === undefined || type === undefined) continue;
      structs.add(struct.name);
      const expected = Object.entries(type.fields ?? {}).map(([name, field]) => [name, expectedField(field, release)]);
      expect([short, [...struct.fields].map(([name, field]) => [name, shownField(field)])]).toEqual([short, expected]);
      expect([short, struct.mapType]).toEqual([short, type["mapType"]]);
    }
    expect(new Set(schemas.structNames())).toEqual(structs);
  });

  test.each(RELEASES)(
    "release %s finds the schema of every kind and list kind that it can serve, and of no other kind",
    (release) => {
      const { schemas, groups } = openEverything(release);
      for (const [gvk, type] of Object.entries(facts.schemas.gvk)) {
        const [kind = "", version = "", group = ""] = gvk.split("/").toReversed();
        const exists = (pointAt(facts.schemas.types[type] ?? [], release) ?? null) !== null;
        expect([gvk, schemas.kind(group, version, kind)?.name]).toEqual([gvk, exists ? fullName(type) : undefined]);
      }
      for (const { name, resources } of groups) {
        for (const { version, kind, listKind, verbs } of resources.flatMap((resource) => resource.versions)) {
          expect(schemas.kind(name, version, kind)?.name).toMatch(new RegExp(`\\.${kind}$`));
          if (verbs.includes("list"))
            expect(schemas.kind(name, version, listKind)?.name).toMatch(new RegExp(`\\.${listKind}$`));
        }
      }
    },
  );

  function fullName(short: string): string {
    const [beginning = "", full = ""] = facts.schemas.prefixes.find(([prefix]) => short.startsWith(prefix)) ?? [];
    return `${full}${short.slice(beginning.length)}`;
  }

  /** The facts of a field in the form of FieldSchema. A reference to a scalar type adds the facts of that type. */
  function expectedField(fact: FactField, release: ReleaseName): Record<string, unknown> {
    const { ref, map, items, patchStrategy, ...own } = fact;
    const target = ref === undefined ? undefined : (pointAt(facts.schemas.types[ref] ?? [], release) ?? undefined);
    const isStruct =
      target !== undefined && (target.fields !== undefined || (target.type === "object" && !target["preserveUnknown"]));
    const merged: Record<string, unknown> = isStruct ? own : { ...target, ...own };
    delete merged["oneOf"];
    if (ref !== undefined)
      Object.assign(merged, { modelName: fullName(ref), type: isStruct ? "struct" : (target?.type ?? "any") });
    if (merged["quantity"] || merged["intOrString"]) merged["type"] = "string";
    if (merged["preserveUnknown"] && merged["type"] === "object") merged["type"] = "any";
    const inner = items ?? map;
    if (inner !== undefined) merged["items"] = expectedField(inner, release);
    if (typeof patchStrategy === "string") merged["patchStrategy"] = patchStrategy.split(",");
    return merged;
  }
});

function shownField(field: FieldSchema): Record<string, unknown> {
  const { struct: _, items, ...own } = field;
  const set = Object.entries(own).filter(([, value]) => value !== undefined && value !== false);
  if (field.default === false) set.push(["default", false]);
  if (items !== undefined) set.push(["items", shownField(items)]);
  const name = modelName(field);
  if (name !== undefined) set.push(["modelName", name]);
  return Object.fromEntries(set);
}

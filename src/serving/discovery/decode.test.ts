import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openCatalog } from "../../objects/catalog/catalog.ts";
import { RELEASES } from "../../objects/catalog/release.ts";
import { parseRuntimeConfig } from "../../objects/catalog/runtime-config.ts";
import { decodeGroups, decodeResourceList } from "./decode.ts";
import { aggregatedGroups, resourceList } from "./document.ts";
import {
  GROUPS_MAX,
  RESOURCES_MAX,
  RESOURCES_PER_VERSION_MAX,
  SUBRESOURCES_PER_RESOURCE_MAX,
  TEXT_LENGTH_MAX,
  VERSIONS_PER_GROUP_MAX,
  WORDS_MAX,
} from "./discovery-limits.ts";
import { localGroups } from "./local.ts";

const list = (items: unknown): unknown => ({
  kind: "APIGroupDiscoveryList",
  apiVersion: "apidiscovery.k8s.io/v2",
  items,
});
const withVersions = (versions: unknown): unknown => list([{ metadata: { name: "g" }, versions }]);
const withResources = (resources: unknown): unknown => withVersions([{ version: "v1", resources }]);
const thing = { resource: "things", scope: "Namespaced" };
const repeat = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => make(i));

describe("decoding the discovery document of a peer", () => {
  test.each(RELEASES)("accepts the complete document of a server of %s", (release) => {
    const groups = localGroups(openCatalog({ release, runtimeConfig: parseRuntimeConfig(["api/all=true"]) }));
    const read = (prefix: "api" | "apis"): unknown =>
      decodeGroups(JSON.parse(JSON.stringify(aggregatedGroups(groups, prefix, "peer"))));
    expect(read("api")).toEqual(groups.filter(({ name }) => name === ""));
    expect(read("apis")).toEqual(groups.filter(({ name }) => name !== ""));
  });

  test("accepts v2beta1, which has no storage version hash", () => {
    const groups = localGroups(openCatalog({ release: "1.28" }));
    const read = decodeGroups(aggregatedGroups(groups, "api", "v2beta1"));
    const pods = read[0]?.versions[0]?.resources.find(({ resource }) => resource === "pods");
    expect(pods).toMatchObject({ resource: "pods", shortNames: ["po"], storageVersionHash: undefined });
  });

  test("accepts missing and null fields and ignores unknown fields", () => {
    expect(decodeGroups(list(null))).toEqual([]);
    expect(decodeGroups(list([{ metadata: { name: "empty" }, versions: null }]))).toEqual([]);
    const document = withResources([
      { ...thing, verbs: null, acceptedTypes: [], x: 1, subresources: [{ subresource: "metric:a_b", verbs: ["get"] }] },
    ]);
    expect(decodeGroups(document)).toEqual([
      {
        name: "g",
        versions: [
          {
            version: "v1",
            freshness: "Current",
            resources: [
              {
                resource: "things",
                responseKind: { group: "", version: "", kind: "" },
                scope: "Namespaced",
                singularResource: "",
                verbs: [],
                shortNames: [],
                categories: [],
                subresources: [
                  { subresource: "metric:a_b", responseKind: { group: "", version: "", kind: "" }, verbs: ["get"] },
                ],
                storageVersionHash: undefined,
              },
            ],
          },
        ],
      },
    ]);
  });

  test("sorts resources, subresources and verbs, and keeps the first of two entries with the same name", () => {
    const document = withResources([
      { ...thing, resource: "b", singularResource: "first", verbs: ["watch", "get", "watch"] },
      { ...thing, resource: "a", subresources: [{ subresource: "y" }, { subresource: "x" }, { subresource: "y" }] },
      { ...thing, resource: "b", singularResource: "second" },
    ]);
    const resources = decodeGroups(document)[0]?.versions[0]?.resources;
    expect(resources?.map(({ resource }) => resource)).toEqual(["a", "b"]);
    expect(resources?.[0]?.subresources.map(({ subresource }) => subresource)).toEqual(["x", "y"]);
    expect(resources?.[1]).toMatchObject({ singularResource: "first", verbs: ["get", "watch"] });
  });

  test("removes group and version from a response kind of the document's own group version", () => {
    const kinds = [
      { group: "g", version: "v1", kind: "Thing" },
      { group: "autoscaling", version: "v1", kind: "Scale" },
    ];
    const document = withResources(
      kinds.map((responseKind, index) => ({ ...thing, resource: `r${index}`, responseKind })),
    );
    expect(decodeGroups(document)[0]?.versions[0]?.resources.map(({ responseKind }) => responseKind)).toEqual([
      { group: "", version: "", kind: "Thing" },
      { group: "autoscaling", version: "v1", kind: "Scale" },
    ]);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a text", "{}"],
    ["a list", []],
    ["another kind", { kind: "APIGroupList", apiVersion: "v1", items: [] }],
    ["another version", { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v3", items: [] }],
    ["items that are not a list", list({})],
    ["a group that is not an object", list([1])],
    ["metadata that is not an object", list([{ metadata: [] }])],
    ["a group name that is not a string", list([{ metadata: { name: 1 } }])],
    ["a group name with a slash", list([{ metadata: { name: "a/b" } }])],
    ["a version without a name", withVersions([{}])],
    ["an unknown freshness", withVersions([{ version: "v1", freshness: "Mouldy" }])],
    ["a resource without a name", withResources([{ scope: "Cluster" }])],
    ["a resource named like a path", withResources([{ ...thing, resource: "pods/status" }])],
    ["an empty name", withResources([{ ...thing, resource: "" }])],
    ["a name with a line end", withResources([{ ...thing, resource: "a\n" }])],
    ["a resource without a scope", withResources([{ resource: "things" }])],
    ["verbs that are not a list", withResources([{ ...thing, verbs: "get" }])],
    ["a verb that is not a string", withResources([{ ...thing, verbs: [{}] }])],
    ["a kind that is not an object", withResources([{ ...thing, responseKind: "Thing" }])],
    ["subresources that are not a list", withResources([{ ...thing, subresources: {} }])],
    ["a subresource without a name", withResources([{ ...thing, subresources: [{}] }])],
    ["a storage version that is not a string", withResources([{ ...thing, storageVersionHash: 1 }])],
    ["a text that is too long", withResources([{ ...thing, resource: "x".repeat(TEXT_LENGTH_MAX + 1) }])],
    ["too many groups", list(repeat(GROUPS_MAX + 1, () => ({})))],
    ["too many versions", withVersions(repeat(VERSIONS_PER_GROUP_MAX + 1, () => ({})))],
    ["too many resources in a version", withResources(repeat(RESOURCES_PER_VERSION_MAX + 1, () => thing))],
    ["too many verbs", withResources([{ ...thing, verbs: repeat(WORDS_MAX + 1, String) }])],
    [
      "too many subresources of a resource",
      withResources([{ ...thing, subresources: repeat(SUBRESOURCES_PER_RESOURCE_MAX + 1, () => ({})) }]),
    ],
    [
      "too many resources in the whole document",
      withVersions(
        repeat(RESOURCES_MAX / RESOURCES_PER_VERSION_MAX + 1, (index) => ({
          version: `v${index}`,
          resources: repeat(RESOURCES_PER_VERSION_MAX, (own) => ({ ...thing, resource: `r${own}` })),
        })),
      ),
    ],
  ])("rejects %s with a full sentence as the error message", (_what, value) => {
    expect(() => decodeGroups(value)).toThrow(/^[A-Z].*\.$/);
  });

  test("throws only errors with a full sentence, whatever JSON value it decodes", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.boolean(), (value, isInside) => {
        try {
          decodeGroups(isInside ? withResources([value]) : value);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(Error);
          expect((thrown as Error).message).toMatch(/^[A-Z].*\.$/);
        }
      }),
    );
  });
});

describe("decoding the legacy resource list of a peer", () => {
  test.each(RELEASES)("yields the same resources for %s as the aggregated document", (release) => {
    const groups = localGroups(openCatalog({ release, runtimeConfig: parseRuntimeConfig(["api/all=true"]) }));
    for (const { name: group, versions } of groups) {
      for (const served of versions) {
        const text = JSON.stringify(resourceList(group, served));
        expect(decodeResourceList(JSON.parse(text), { group, version: served.version })).toEqual(served);
      }
    }
  });

  const legacy = (resources: unknown): unknown => ({ kind: "APIResourceList", groupVersion: "g/v1", resources });
  const groupVersion = { group: "g", version: "v1" };

  test("accepts subresources before or without their resource, and drops paths below a subresource", () => {
    const { resources } = decodeResourceList(
      legacy([
        { name: "pods/log", namespaced: true, kind: "Pod", verbs: ["get"] },
        { name: "pods", namespaced: true, kind: "Pod", verbs: ["list", "get"] },
        { name: "nodes/metric", namespaced: false, kind: "Metric", verbs: ["get"] },
        { name: "nodes/metric/deep", namespaced: false, kind: "Metric", verbs: ["get"] },
      ]),
      groupVersion,
    );
    expect(
      resources.map(({ resource, responseKind, verbs, subresources }) => [
        resource,
        responseKind.kind,
        verbs,
        subresources.map(({ subresource }) => subresource),
      ]),
    ).toEqual([
      ["nodes", "", [], ["metric"]],
      ["pods", "Pod", ["get", "list"], ["log"]],
    ]);
    expect(resourceList("g", { version: "v1", freshness: "Current", resources }).resources).toMatchObject([
      { name: "nodes/metric" },
      { name: "pods" },
      { name: "pods/log" },
    ]);
  });

  test.each<[string, unknown]>([
    ["another kind", { kind: "APIGroup", groupVersion: "g/v1" }],
    ["another group version", { kind: "APIResourceList", groupVersion: "g/v2" }],
    ["a resource without a name", legacy([{ namespaced: true }])],
    ["a resource without a scope", legacy([{ name: "pods" }])],
    ["a subresource of nothing", legacy([{ name: "/status", namespaced: true }])],
  ])("rejects %s with a full sentence as the error message", (_what, value) => {
    expect(() => decodeResourceList(value, groupVersion)).toThrow(/^[A-Z].*\.$/);
  });
});

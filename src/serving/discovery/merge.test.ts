import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openCatalog } from "../../objects/catalog/catalog.ts";
import { RELEASES } from "../../objects/catalog/release.ts";
import { decodeGroups } from "./decode.ts";
import { aggregatedGroups } from "./document.ts";
import type { DiscoveryGroup, DiscoveryResource, DiscoveryVersion } from "./groups.ts";
import { localGroups } from "./local.ts";
import { joinViews, mergeSources, renderView, viewOf, type DiscoverySource } from "./merge.ts";
import { group, lines, resource, source, version } from "../../../test/testing/serving/discovery/documents.ts";

const only = (groups: readonly DiscoveryGroup[]): DiscoveryResource => {
  const found = groups[0]?.versions[0]?.resources[0];
  if (found === undefined) throw new Error("there is no resource");
  return found;
};
const scale = { subresource: "scale", responseKind: { group: "", version: "", kind: "Scale" }, verbs: ["get"] };
const status = { subresource: "status", responseKind: { group: "", version: "", kind: "Thing" }, verbs: ["get"] };

describe("merging", () => {
  test.each<[string, DiscoveryGroup[][], string[]]>([
    ["no server", [], []],
    ["one server", [[group("g", "v1")]], ["g/v1 things"]],
    ["two servers that serve the same", [[group("g", "v1")], [group("g", "v1")]], ["g/v1 things"]],
    ["a server with another group", [[group("a", "v1")], [group("b", "v1")]], ["a/v1 things", "b/v1 things"]],
    ["a server with another version", [[group("g", "v1")], [group("g", "v2")]], ["g/v2 things", "g/v1 things"]],
    [
      "a server with another resource",
      [[group("g", version("v1", "b"))], [group("g", version("v1", "a"))]],
      ["g/v1 a,b"],
    ],
    ["a server that serves nothing", [[], [group("g", "v1")]], ["g/v1 things"]],
    ["a group without versions", [[group("g")], [group("h", "v1")]], ["h/v1 things"]],
    [
      "groups in another order",
      [
        [group("b", "v1"), group("a", "v1")],
        [group("a", "v1"), group("b", "v1")],
      ],
      ["a/v1 things", "b/v1 things"],
    ],
  ])("yields the union for %s, in any order of the servers", (_what, documents, expected) => {
    const sources = documents.map((groups, index) => source(`server-${index}`, groups));
    expect(lines(mergeSources(sources))).toEqual(expected);
    expect(mergeSources(sources.toReversed())).toEqual(mergeSources(sources));
  });

  test("unites and sorts the verbs of resources and subresources", () => {
    const left = resource("things", {
      verbs: ["get", "list"],
      subresources: [{ ...status, verbs: ["get", "update"] }],
    });
    const right = resource("things", {
      verbs: ["get", "watch"],
      subresources: [scale, { ...status, verbs: ["patch"] }],
    });
    const merged = only(
      mergeSources([source("a", [group("g", version("v1", left))]), source("b", [group("g", version("v1", right))])]),
    );
    expect(merged.verbs).toEqual(["get", "list", "watch"]);
    expect(merged.subresources).toEqual([scale, { ...status, verbs: ["get", "patch", "update"] }]);
  });

  test.each<[string, Partial<DiscoverySource>, Partial<DiscoverySource>, string]>([
    ["the newest release decides", { release: "1.36" }, { release: "1.37" }, "right"],
    ["releases are compared as numbers, and the newest decides", { release: "1.9" }, { release: "1.28" }, "right"],
    ["the lowest server ID decides between equal releases", { release: "1.36" }, { release: "1.36" }, "left"],
    ["a server without a release counts as the oldest", {}, { release: undefined }, "left"],
    ["an unreachable server still decides", { release: "1.36" }, { release: "1.37", isReachable: false }, "right"],
  ])("if servers disagree, %s", (_rule, left, right, expected) => {
    const saying = (word: string): DiscoveryGroup[] => [
      group(
        "g",
        version(
          "v1",
          resource("things", {
            responseKind: { group: "", version: "", kind: word },
            singularResource: word,
            shortNames: [word],
            categories: [word],
            storageVersionHash: word,
            subresources: [{ ...status, responseKind: { group: "", version: "", kind: word } }],
          }),
        ),
      ),
    ];
    const sources = [source("a", saying("left"), left), source("b", saying("right"), right)];
    expect(mergeSources(sources)).toEqual(saying(expected));
    expect(mergeSources(sources.toReversed())).toEqual(saying(expected));
  });

  test("keeps the storage version hash of an older server if the newest server does not publish one", () => {
    const reported = [group("g", version("v1", resource("things", { storageVersionHash: "hash" })))];
    const untold = [group("g", version("v1", resource("things", { singularResource: "thing" })))];
    const sources = [source("a", reported, { release: "1.35" }), source("b", untold, { release: "1.36" })];
    expect(only(mergeSources(sources))).toMatchObject({ singularResource: "thing", storageVersionHash: "hash" });
  });

  test("does not depend on the order of the servers", () => {
    const [a, b] = [source("a", [group("g", "v1")]), source("b", [group("g", "v2"), group("apps", "v1")])];
    expect(mergeSources([a, b])).toEqual(mergeSources([b, a]));
  });

  test.each(RELEASES)("yields for two servers of %s the document that each of them has", (release) => {
    const groups = localGroups(openCatalog({ release, extensions: true }));
    const reported = ["api", "apis"] as const;
    const heard = reported.flatMap((prefix) => decodeGroups(aggregatedGroups(groups, prefix, "peer")));
    const merged = mergeSources([source("a", heard), source("b", groups)]);
    expect(merged).toEqual(groups);
    for (const prefix of reported)
      expect(JSON.stringify(aggregatedGroups(merged, prefix, "v2"))).toBe(
        JSON.stringify(aggregatedGroups(groups, prefix, "v2")),
      );
  });
});

describe("freshness of a merged group version", () => {
  const stale: DiscoveryVersion = { ...version("v1"), freshness: "Stale" };
  test.each<[string, Partial<DiscoverySource>[], string[]]>([
    ["Current if its only server can be reached", [{}], ["g/v1 things"]],
    ["Stale, with its resources, if its only server cannot be reached", [{ isReachable: false }], ["g/v1 things!"]],
    ["Current if one of its servers can be reached", [{ isReachable: false }, {}], ["g/v1 things"]],
    [
      "Current if one server reports Current, even if the server with the lowest ID reports Stale",
      [{ groups: [group("g", stale)] }, {}],
      ["g/v1 things"],
    ],
    [
      "Stale if all servers report Stale",
      [{ groups: [group("g", stale)] }, { groups: [group("g", stale)] }],
      ["g/v1 !"],
    ],
    [
      "Current if only some of its resources are unreachable, and those resources are listed",
      [{ isReachable: false, groups: [group("g", version("v1", "lost"))] }, {}],
      ["g/v1 lost,things"],
    ],
  ])("is %s", (_rule, given, expected) => {
    const sources = given.map((more, index) => source(`server-${index}`, [group("g", "v1")], more));
    expect(lines(mergeSources(sources))).toEqual(expected);
  });
});

/**
 * The test vectors of Kubernetes' ordering; each letter is a group, and each text is the group list of one server.
 * Kubernetes keeps the order of the servers' own lists where it can; this merge sorts by name alone.
 */
describe("merging groups that are not built in", () => {
  test.each([
    [
      "differs: sorts by name, where kubernetes keeps the lists' order (A B C Q X Z D Y)",
      ["ABCD", "ABCD", "AXZD", "ZY", "Q"],
      "ABCDQXYZ",
    ],
    ["yields no groups for no lists", [], ""],
    ["differs: sorts a single list too", ["CAB"], "ABC"],
    ["sorts two lists that contradict each other", ["AB", "BA"], "AB"],
    ["ignores an empty list", ["", "ABC"], "ABC"],
    ["yields no groups for empty lists", ["", "", ""], ""],
    ["sorts lists with the same end", ["CDE", "BDE", "ADE"], "ABCDE"],
    ["sorts lists with the same beginning and end", ["ADE", "ACE", "ABE"], "ABCDE"],
    ["sorts complete lists that form a circle", ["ABC", "BCA", "CAB"], "ABC"],
    ["sorts a complete list and parts that contradict it", ["ABCD", "BA", "CD"], "ABCD"],
    ["sorts two lists that contradict each other, beside a third list", ["AB", "CD", "BA"], "ABCD"],
    ["sorts pairs that form a circle", ["AB", "BC", "CA"], "ABC"],
  ])("%s", (_what, given, expected) => {
    const sources = given.map((names, index) =>
      source(
        `server-${index}`,
        [...names].map((name) => group(name, "v1")),
      ),
    );
    const merged = mergeSources(sources);
    expect(merged.map(({ name }) => name).join("")).toBe(expected);
  });

  test.each([
    [[["v2"], ["v1"]], "v2 v1"],
    [[["v1beta1"], ["v1", "v1alpha1"]], "v1 v1beta1 v1alpha1"],
    [
      [
        ["v1", "v1beta2"],
        ["v1", "v1beta1"],
      ],
      "v1 v1beta2 v1beta1",
    ],
  ])(
    "differs: orders versions %j as %s, so that an older version never becomes the preferred one",
    (given, expected) => {
      const sources = given.map((versions, index) => source(`server-${index}`, [group("g", ...versions)]));
      expect(
        mergeSources(sources)[0]
          ?.versions.map((item) => item.version)
          .join(" "),
      ).toBe(expected);
    },
  );

  test("differs: places built-in groups where every release has them, in the worked example of three servers", () => {
    const scaled = resource("deployments", { verbs: ["create", "get", "watch"], subresources: [scale] });
    const deployments = resource("deployments", { verbs: ["create", "get", "list"] });
    const merged = mergeSources([
      source("apiserver-aaa", [
        group("apiregistration.k8s.io", "v1"),
        group("apps", version("v1", deployments, "replicasets")),
        group("batch", version("v1", "jobs")),
        group(
          "resource.k8s.io",
          version("v1", "deviceclasses", "resourceclaims"),
          version("v1beta2", "resourceclaims"),
        ),
      ]),
      source("apiserver-bbb", [
        group("apiregistration.k8s.io", "v1"),
        group("apps", version("v1", scaled, "replicasets")),
        group("scheduling.k8s.io", version("v1", "priorityclasses"), version("v1alpha1", "workloads")),
        group(
          "resource.k8s.io",
          version("v1", "deviceclasses", "devicetaintrules", "resourceclaims"),
          version("v1beta1", "resourceclaims"),
        ),
      ]),
      source("apiserver-ccc", [
        group("apiregistration.k8s.io", "v1"),
        group("batch", version("v2", "jobs"), version("v1", "jobs")),
        group("autoscaling", version("v2", "hpas")),
      ]),
    ]);
    expect(lines(merged)).toEqual([
      "apiregistration.k8s.io/v1 things",
      "apps/v1 deployments,replicasets",
      "autoscaling/v2 hpas",
      "batch/v2 jobs",
      "batch/v1 jobs",
      "scheduling.k8s.io/v1 priorityclasses",
      "scheduling.k8s.io/v1alpha1 workloads",
      "resource.k8s.io/v1 deviceclasses,devicetaintrules,resourceclaims",
      "resource.k8s.io/v1beta2 resourceclaims",
      "resource.k8s.io/v1beta1 resourceclaims",
    ]);
    expect(only(merged.slice(1)).verbs).toEqual(["create", "get", "list", "watch"]);
  });
});

const word = fc.constantFrom("a", "b", "c");
const sortedWords = fc.uniqueArray(word).map((words) => words.sort());
const kind = fc.record({ group: fc.constant(""), version: fc.constant(""), kind: word });
const sorted = <Item>(items: Item[], key: (item: Item) => string): Item[] =>
  items.sort((left, right) => (key(left) < key(right) ? -1 : 1));
const anySubresources = fc
  .uniqueArray(fc.record({ subresource: word, responseKind: kind, verbs: sortedWords }), {
    selector: (item) => item.subresource,
    maxLength: 2,
  })
  .map((items) => sorted(items, (item) => item.subresource));
const anyResource: fc.Arbitrary<DiscoveryResource> = fc.record({
  resource: word,
  responseKind: kind,
  scope: fc.constantFrom("Namespaced", "Cluster"),
  singularResource: word,
  verbs: sortedWords,
  shortNames: fc.array(word, { maxLength: 2 }),
  categories: fc.array(word, { maxLength: 1 }),
  subresources: anySubresources,
  storageVersionHash: fc.option(word, { nil: undefined }),
});
const anyVersion: fc.Arbitrary<DiscoveryVersion> = fc.record({
  version: fc.constantFrom("v1", "v2", "v1beta1"),
  freshness: fc.constantFrom("Current", "Stale"),
  resources: fc
    .uniqueArray(anyResource, { selector: (item) => item.resource, maxLength: 3 })
    .map((items) => sorted(items, (item) => item.resource)),
});
const anyGroups: fc.Arbitrary<DiscoveryGroup[]> = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom("", "apps", "x.io", "y.io"),
    versions: fc.uniqueArray(anyVersion, { selector: (item) => item.version, minLength: 1, maxLength: 3 }),
  }),
  { selector: (item) => item.name, maxLength: 3 },
);
/**
 * A server with groups from a small set of names, so that servers often describe the same resource. Two servers may
 * even have the same ID and contradict each other.
 */
const anySource: fc.Arbitrary<DiscoverySource> = fc.record({
  serverId: word,
  release: fc.constantFrom("1.35", "1.36", undefined),
  isReachable: fc.boolean(),
  groups: anyGroups,
});

describe("the merge of documents, a semilattice join,", () => {
  test("is associative: the grouping of merges does not matter", () => {
    fc.assert(
      fc.property(anySource, anySource, anySource, anySource, (first, second, third, fourth) => {
        const [a, b, c, d] = [viewOf([first]), viewOf([second]), viewOf([third]), viewOf([fourth])];
        const oneByOne = renderView(joinViews(joinViews(joinViews(a, b), c), d));
        expect(renderView(joinViews(a, joinViews(b, joinViews(c, d))))).toEqual(oneByOne);
        expect(renderView(joinViews(joinViews(a, b), joinViews(c, d)))).toEqual(oneByOne);
      }),
    );
  });

  test("is commutative: the order of the documents does not matter", () => {
    fc.assert(
      fc.property(fc.array(anySource, { maxLength: 5 }), fc.infiniteStream(fc.nat()), (sources, keys) => {
        const shuffled = sources
          .map((item) => ({ item, key: Number(keys.next().value) }))
          .sort((left, right) => left.key - right.key);
        expect(mergeSources(shuffled.map(({ item }) => item))).toEqual(mergeSources(sources));
      }),
    );
  });

  test("is idempotent: a repeated document changes nothing", () => {
    fc.assert(
      fc.property(fc.array(anySource, { maxLength: 4 }), (sources) => {
        expect(mergeSources([...sources, ...structuredClone(sources)])).toEqual(mergeSources(sources));
      }),
    );
  });

  test("may treat servers with the same document as one", () => {
    fc.assert(
      fc.property(fc.array(anySource, { minLength: 2, maxLength: 5 }), ([first, ...rest]) => {
        const sources = [first, ...rest.map((item, index) => (index % 2 ? item : { ...item, groups: first!.groups }))];
        const apart = sources.map((item) => structuredClone(item!));
        const keyed = apart.map((item) => ({ ...item, documentKey: JSON.stringify(item.groups) }));
        expect(mergeSources(sources as DiscoverySource[])).toEqual(mergeSources(apart));
        expect(mergeSources(keyed)).toEqual(mergeSources(apart));
      }),
    );
  });

  test("is complete: the result has everything that any server has, and nothing else", () => {
    const facts = (groups: readonly DiscoveryGroup[]): string[] =>
      groups.flatMap(({ name, versions }) =>
        versions.flatMap((item) => [
          `${name}/${item.version}`,
          ...item.resources.flatMap(({ resource: own, verbs, subresources }) => [
            `${name}/${item.version}/${own}`,
            ...verbs.map((verb) => `${name}/${item.version}/${own} ${verb}`),
            ...subresources.flatMap((sub) => [
              `${name}/${item.version}/${own}/${sub.subresource}`,
              ...sub.verbs.map((verb) => `${name}/${item.version}/${own}/${sub.subresource} ${verb}`),
            ]),
          ]),
        ]),
      );
    fc.assert(
      fc.property(fc.array(anySource, { maxLength: 4 }), (sources) => {
        const merged = facts(mergeSources(sources));
        const expected = new Set(sources.flatMap(({ groups }) => facts(groups)));
        expect(merged.toSorted()).toEqual([...expected].sort());
      }),
    );
  });
});

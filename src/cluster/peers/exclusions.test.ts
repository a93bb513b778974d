import { describe, expect, test } from "vitest";
import { Exclusions, exclusionName, withoutExcluded, type Excludable } from "./exclusions.ts";
import { documentOf } from "../../../test/testing/cluster/peers/documents.ts";

const GRACE_MS = 300_000;
const WIDGETS = { group: "example.com", version: "v1", resource: "widgets" };
const METRICS = { group: "metrics.k8s.io", version: "v1beta1", resource: "" };

function exclusions(builtIn: readonly string[] = []): Exclusions {
  return new Exclusions({ isBuiltIn: (group, version) => builtIn.includes(`${group}/${version}`) });
}

describe("exclusions", () => {
  const names = { active: ["a/v1", "b/v1", "c/v1"], deleted: ["d/v1", "e/v1"] };
  test.each([
    { what: "nothing", active: [], deleted: [], excluded: 0 },
    { what: "existing resources", active: names.active, deleted: [], excluded: 3 },
    { what: "deleted resources", active: [], deleted: names.deleted, excluded: 2 },
    { what: "both", active: ["a/v1"], deleted: names.deleted, excluded: 3 },
    { what: "a resource deleted and created again, once", active: ["d/v1"], deleted: ["d/v1"], excluded: 1 },
  ])("contain $what", ({ active, deleted, excluded }) => {
    const subject = exclusions();
    subject.update(deleted, 0);
    subject.update([], 1);
    subject.update(active, 2);
    const all = [...names.active, ...names.deleted].map((name) => ({ group: name[0]!, version: "v1", resource: "x" }));
    expect(all.filter((question) => subject.isExcluded(question, 3))).toHaveLength(excluded);
  });

  test("contain a custom resource, but not other resources of its group version", () => {
    const subject = exclusions();
    subject.update([exclusionName(WIDGETS)], 0);
    expect(subject.isExcluded(WIDGETS, 0)).toBe(true);
    expect(subject.isExcluded({ ...WIDGETS, resource: "gadgets" }, 0)).toBe(false);
    expect(subject.isExcluded({ ...WIDGETS, resource: "" }, 0)).toBe(false);
    expect(subject.isExcluded({ ...WIDGETS, version: "v2" }, 0)).toBe(false);
  });

  test("contain an aggregated group version with all its resources", () => {
    const subject = exclusions();
    subject.update([exclusionName(METRICS)], 0);
    expect(subject.isExcluded(METRICS, 0)).toBe(true);
    expect(subject.isExcluded({ ...METRICS, resource: "pods" }, 0)).toBe(true);
  });

  test("never contain a built-in group version", () => {
    const subject = exclusions(["example.com/v1"]);
    subject.update([exclusionName(WIDGETS), "example.com/v1"], 0);
    expect(subject.isExcluded(WIDGETS, 0)).toBe(false);
    subject.update([], 1);
    expect(subject.isExcluded(WIDGETS, 1)).toBe(false);
  });

  test("do not contain a resource that only a peer has seen", () => {
    expect(exclusions().isExcluded(WIDGETS, 0)).toBe(false);
  });
});

describe("a deleted resource", () => {
  test("is excluded until its own grace period has passed", () => {
    const subject = exclusions();
    subject.update(["a/v1", "b/v1"], 0);
    subject.update(["b/v1"], 1_000);
    subject.update([], 2_000);
    const [a, b] = [
      { ...METRICS, group: "a", version: "v1" },
      { ...METRICS, group: "b", version: "v1" },
    ];
    expect(subject.nextExpiryMs()).toBe(1_000 + GRACE_MS);
    expect(subject.isExcluded(a, 999 + GRACE_MS)).toBe(true);
    expect(subject.isExcluded(a, 1_000 + GRACE_MS)).toBe(false);
    expect(subject.isExcluded(b, 1_000 + GRACE_MS)).toBe(true);
    expect(subject.update([], 1_000 + GRACE_MS)).toBe(true);
    expect(subject.nextExpiryMs()).toBe(2_000 + GRACE_MS);
    expect(subject.update([], 2_000 + GRACE_MS)).toBe(true);
    expect(subject.nextExpiryMs()).toBeUndefined();
  });

  test("that is created again is excluded for as long as it exists", () => {
    const subject = exclusions();
    subject.update(["a/v1"], 0);
    subject.update([], 1_000);
    subject.update(["a/v1"], 2_000);
    const question = { group: "a", version: "v1", resource: "" };
    expect(subject.nextExpiryMs()).toBeUndefined();
    expect(subject.isExcluded(question, 10 * GRACE_MS)).toBe(true);
    subject.update([], 10 * GRACE_MS);
    expect(subject.isExcluded(question, 11 * GRACE_MS - 1)).toBe(true);
    expect(subject.isExcluded(question, 11 * GRACE_MS)).toBe(false);
  });

  test("is forgotten beyond the limit, the oldest first", () => {
    const subject = exclusions();
    const many = Array.from({ length: 20_001 }, (_, index) => `g${index}/v1`);
    subject.update(many, 0);
    expect(subject.update([], 1)).toBe(true);
    expect(subject.isExcluded({ group: "g0", version: "v1", resource: "" }, 2)).toBe(false);
    expect(subject.isExcluded({ group: "g1", version: "v1", resource: "" }, 2)).toBe(true);
  });
});

test.each([
  { what: "both empty", before: [], after: [], changed: false },
  { what: "identical", before: ["a/v1"], after: ["a/v1"], changed: false },
  { what: "added", before: ["a/v1"], after: ["a/v1", "b/v1"], changed: true },
  { what: "removed, and therefore still excluded", before: ["a/v1", "b/v1"], after: ["a/v1"], changed: false },
  { what: "swapped", before: ["a/v1"], after: ["b/v1"], changed: true },
])("update returns whether isExcluded changed for a resource: $what", ({ before, after, changed }) => {
  const subject = exclusions();
  subject.update(before, 0);
  expect(subject.update(after, 1)).toBe(changed);
});

describe("a peer's document", () => {
  const document = [
    {
      name: "a",
      versions: [...documentOf({ "a/v1": { x: "get" }, "a/v2": { x: "get", y: "get" } })].flatMap((g) => g.versions),
    },
    ...documentOf({ "b/v1": { z: "get" } }),
  ];
  const without = (...names: readonly string[]): unknown =>
    withoutExcluded(document, (question: Excludable) => names.includes(exclusionName(question))).map((group) => [
      group.name,
      ...group.versions.map(
        ({ version, resources }) => `${version}: ${resources.map(({ resource }) => resource).join(" ")}`,
      ),
    ]);

  test.each([
    {
      what: "nothing",
      names: [],
      left: [
        ["a", "v1: x", "v2: x y"],
        ["b", "v1: z"],
      ],
    },
    {
      what: "one of two versions",
      names: ["a/v1"],
      left: [
        ["a", "v2: x y"],
        ["b", "v1: z"],
      ],
    },
    { what: "the only version", names: ["b/v1"], left: [["a", "v1: x", "v2: x y"]] },
    {
      what: "one resource of two",
      names: ["a/v2/x"],
      left: [
        ["a", "v1: x", "v2: y"],
        ["b", "v1: z"],
      ],
    },
    {
      what: "the only resource",
      names: ["a/v1/x"],
      left: [
        ["a", "v2: x y"],
        ["b", "v1: z"],
      ],
    },
    { what: "all", names: ["a/v1", "a/v2", "b/v1/z"], left: [] },
  ])("loses $what if excluded", ({ names, left }) => {
    expect(without(...names)).toEqual(left);
  });

  test("stays the same value if nothing is excluded", () => {
    expect(withoutExcluded(document, () => false)).toBe(document);
  });

  test("loses an excluded group version without resources, and keeps other empty group versions", () => {
    const empty = documentOf({ "a/v1": {}, "b/v1": {} }, "Stale");
    const left = withoutExcluded(empty, ({ group, resource }) => group === "a" && resource === "");
    expect(left.map(({ name }) => name)).toEqual(["b"]);
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FieldSet } from "./field-set.ts";
import { fromFieldsV1, toFieldsV1 } from "./fields-v1.ts";
import { pathText, type FieldPath, type PathElement } from "./path-element.ts";

function path(...steps: readonly (string | number | PathElement)[]): FieldPath {
  return steps.map((step) => {
    if (typeof step === "string") return { kind: "field", name: step };
    return typeof step === "number" ? { kind: "index", index: step } : step;
  });
}

function texts(set: FieldSet): string[] {
  return [...set.paths()].map(pathText).sort();
}

const element: fc.Arbitrary<PathElement> = fc.oneof(
  fc.constantFrom("a", "b", "c").map((name): PathElement => ({ kind: "field", name })),
  fc.constantFrom("x", "y").map((name): PathElement => ({ kind: "key", fields: { name } })),
  fc.constantFrom<unknown>("x", 1, true).map((value): PathElement => ({ kind: "value", value })),
  fc.nat(2).map((index): PathElement => ({ kind: "index", index })),
);
const fieldSet = fc
  .array(fc.array(element, { minLength: 1, maxLength: 4 }), { maxLength: 12 })
  .map((paths) => FieldSet.of(...paths));

describe("a field set", () => {
  test("contains exactly the paths that were added, not their parents", () => {
    const set = FieldSet.of(path("spec", "replicas"), path("spec", "ports", { kind: "key", fields: { port: 80 } }));
    expect(set.has(path("spec", "replicas"))).toBe(true);
    expect(set.has(path("spec"))).toBe(false);
    expect(set.has(path("spec", "replicas", "x"))).toBe(false);
    expect(set.has([])).toBe(false);
    expect(set.size).toBe(2);
    expect(texts(set)).toEqual([".spec.ports[port=80]", ".spec.replicas"]);
  });

  test("identifies a list item regardless of the order of its key fields", () => {
    const set = FieldSet.of(path({ kind: "key", fields: { protocol: "TCP", port: 80 } }));
    expect(set.has(path({ kind: "key", fields: { port: 80, protocol: "TCP" } }))).toBe(true);
    expect(set.has(path({ kind: "key", fields: { port: "80", protocol: "TCP" } }))).toBe(false);
  });

  const parent = FieldSet.of(path("a"));
  const child = FieldSet.of(path("a", "b"));
  const both = FieldSet.of(path("a"), path("a", "b"));
  test.each([
    ["a parent without its child", parent.difference(child), [".a"]],
    ["a child without its parent", child.difference(parent), [".a.b"]],
    ["both without the parent", both.difference(parent), [".a.b"]],
    ["both without the child", both.difference(child), [".a"]],
    ["both without the parent and all below", both.recursiveDifference(parent), []],
    ["both without the child and all below", both.recursiveDifference(child), [".a"]],
    ["the intersection of parent and child", parent.intersection(child), []],
    ["the leaves of both", both.leaves(), [".a.b"]],
    ["the union", parent.union(child), [".a", ".a.b"]],
  ])("has the expected paths: %s", (_, set, expected) => {
    expect(texts(set)).toEqual(expected);
    expect(set.isEmpty).toBe(expected.length === 0);
  });

  test("satisfies the laws of sets", () => {
    fc.assert(
      fc.property(fieldSet, fieldSet, fieldSet, (a, b, c) => {
        expect(a.union(b).equals(b.union(a))).toBe(true);
        expect(
          a
            .union(b)
            .union(c)
            .equals(a.union(b.union(c))),
        ).toBe(true);
        expect(a.intersection(b).equals(b.intersection(a))).toBe(true);
        expect(a.intersection(b.union(c)).equals(a.intersection(b).union(a.intersection(c)))).toBe(true);
        expect(a.difference(b).union(a.intersection(b)).equals(a)).toBe(true);
        expect(a.difference(b).intersection(b).isEmpty).toBe(true);
        expect(a.difference(a).isEmpty).toBe(true);
        expect(a.recursiveDifference(b).difference(a).isEmpty).toBe(true);
        expect(a.recursiveDifference(b).intersection(b).isEmpty).toBe(true);
        expect(a.leaves().difference(a).isEmpty).toBe(true);
        expect(a.size).toBe([...a.paths()].length);
        for (const member of a.paths()) expect(a.has(member)).toBe(true);
      }),
    );
  });

  test("is returned unchanged, as the same object, by an operation that has no effect", () => {
    fc.assert(
      fc.property(fieldSet, fieldSet, (a, b) => {
        expect(a.union(a.intersection(b))).toBe(a);
        expect(a.difference(b.difference(a))).toBe(a);
      }),
    );
  });

  test("survives a round trip through its text, which does not depend on the order of insertion", () => {
    fc.assert(
      fc.property(fieldSet, (set) => {
        const text = JSON.stringify(toFieldsV1(set));
        const back = fromFieldsV1(JSON.parse(text));
        expect(back.equals(set)).toBe(true);
        expect(JSON.stringify(toFieldsV1(FieldSet.of(...[...set.paths()].toReversed())))).toBe(text);
      }),
    );
  });
});

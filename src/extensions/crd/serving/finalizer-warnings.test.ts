import { expect, test } from "vitest";
import { finalizerWarnings } from "./finalizer-warnings.ts";

const PREFER = "prefer a domain-qualified finalizer name";
const WHY = "to avoid accidental conflicts with other finalizer writers";

test.each<[string[], string[]]>([
  [[], []],
  [["example.com/ok", "orphan", "foregroundDeletion", "kubernetes"], []],
  [["plain"], [`metadata.finalizers: "plain": ${PREFER} ${WHY}`]],
  [["example.com"], [`metadata.finalizers: "example.com": ${PREFER} including a path (/) ${WHY}`]],
  [
    ["b", "a"],
    [`metadata.finalizers: "a": ${PREFER} ${WHY}`, `metadata.finalizers: "b": ${PREFER} ${WHY}`],
  ],
])(
  "finalizerWarnings(%j) returns a warning for each name that is not domain-qualified, in alphabetical order",
  (finalizers, warnings) => {
    expect([...finalizerWarnings(finalizers)]).toEqual(warnings);
  },
);

test("finalizerWarnings returns the error of an invalid name before the other warnings", () => {
  const [first, ...others] = finalizerWarnings(["not a name"]);
  expect(first).toContain('metadata.finalizers: "not a name": name part must consist of alphanumeric characters');
  expect(others).toHaveLength(1);
});

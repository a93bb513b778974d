import { expect, test } from "vitest";
import { decodeWaits, encodeWaits, type ReportedWait } from "./reported-waits.ts";

function wait(name: string, since = "2030-01-01T00:00:00Z"): ReportedWait {
  return { kind: "resource", name, since, because: "HTTP 503: no" };
}

test("without waits there is no annotation", () => {
  expect(encodeWaits([])).toBeUndefined();
  expect(decodeWaits(undefined)).toEqual({ waits: [], hidden: 0 });
});

test("the annotation lists the ten longest waits, and counts the others", () => {
  const many = Array.from({ length: 12 }, (_, index) => wait(`r${index}`, `2030-01-01T00:00:${50 - index}Z`));
  const { waits, hidden } = decodeWaits(encodeWaits(many));
  expect(waits.map(({ name }) => name)).toEqual(
    many
      .map(({ name }) => name)
      .toReversed()
      .slice(0, 10),
  );
  expect(waits[0]).toEqual(many.at(-1));
  expect(hidden).toBe(2);
});

test("long texts are cut", () => {
  const [read] = decodeWaits(encodeWaits([{ ...wait("a"), because: "x".repeat(10_000) }])).waits;
  expect(read!.because).toHaveLength(301);
});

test.each([
  ["no JSON", "{"],
  ["no object", "[]"],
  ["no list", '{"waits":1}'],
  ["a wait that is no object", '{"waits":[1]}'],
  ["an unknown kind", '{"waits":[{"kind":"leader","name":"a"}],"hidden":"1"}'],
  ["a huge text", `{"waits":[],"hidden":${"1".repeat(20_000)}}`],
])("an annotation that another client wrote with %s is ignored", (_name, annotation) => {
  expect(decodeWaits(annotation)).toEqual({ waits: [], hidden: 0 });
});

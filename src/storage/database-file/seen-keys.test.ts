import { expect, test } from "vitest";
import { SeenKeys, type KeyPlace } from "./seen-keys.ts";

/** A set whose file is an array: the position of a key is its index plus 1. */
function setOver(file: readonly string[]): { add: (index: number) => boolean; reads: () => number } {
  let reads = 0;
  const seen = new SeenKeys((position, { bytes, start, end }) => {
    reads++;
    return file[position - 1] === bytes.toString("utf8", start, end);
  });
  return { add: (index) => seen.add(placeOf(file[index]!, index + 1)), reads: () => reads };
}

function placeOf(key: string, position: number): KeyPlace {
  const bytes = Buffer.from(`<${key}>`);
  return { bytes, start: 1, end: bytes.length - 1, position };
}

test("each of many keys is new once, also after the table has grown", () => {
  const keys = Array.from({ length: 100_000 }, (_, index) => `/registry/pods/shop/pod-${index}`);
  const file = [...keys, ...keys.toReversed()];
  const { add } = setOver(file);
  const isNew = file.map((_key, index) => add(index));
  expect(isNew.slice(0, keys.length)).not.toContain(false);
  expect(isNew.slice(keys.length)).not.toContain(true);
});

test("a key that was seen recently is compared without a read of the file", () => {
  const { add, reads } = setOver(["a", "a", "b", "a"]);
  expect([add(0), add(1), add(2), add(3)]).toEqual([true, false, true, false]);
  expect(reads()).toBe(0);
});

test("a key that is the beginning of another key is a different key", () => {
  const { add } = setOver(["/registry/pods/a", "/registry/pods/ab", "/registry/pods/"]);
  expect([add(0), add(1), add(2)]).toEqual([true, true, true]);
});

test("a long key is compared with the file", () => {
  const long = "x".repeat(1_000);
  const { add, reads } = setOver([long, long]);
  expect([add(0), add(1)]).toEqual([true, false]);
  expect(reads()).toBe(1);
});

test("equal hashes do not hide a key, and many of them are an error", () => {
  const always = new SeenKeys(() => false);
  const long = "x".repeat(1_000);
  const add = (position: number): boolean => always.add(placeOf(long, position));
  expect([add(1), add(2), add(3)]).toEqual([true, true, true]);
  expect(() => {
    for (let position = 4; position < 1_000; position++) add(position);
  }).toThrow("has keys that were chosen to slow down their reader");
});

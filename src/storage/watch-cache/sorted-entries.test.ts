import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEntry, type Entry } from "./entry.ts";
import { SortedEntries } from "./sorted-entries.ts";

function entryOf(key: string, modRevision = 1): Entry {
  return createEntry({
    key,
    value: Buffer.from('{"kind":"A","apiVersion":"v1","metadata":{}}'),
    modRevision,
    createRevision: 1,
  });
}

function keysOf(entries: readonly Entry[]): string[] {
  return entries.map((entry) => entry.key);
}

describe("SortedEntries", () => {
  test("returns ten thousand random keys in the order of a sorted array", () => {
    const keys = Array.from(
      { length: 10_000 },
      (_, index) => `/r/${(Math.imul(index + 1, 0x9e3779b1) >>> 0).toString(36)}`,
    );
    const entries = new SortedEntries();
    for (const key of keys) entries.set(entryOf(key));
    const sorted = [...new Set(keys)].sort();
    expect(keysOf(entries.range("", "\uffff"))).toEqual(sorted);
    expect(entries.size).toBe(sorted.length);
    for (const key of sorted.filter((_, index) => index % 2 === 0)) entries.delete(key);
    expect(keysOf(entries.range("", "\uffff"))).toEqual(sorted.filter((_, index) => index % 2 === 1));
  });

  test("behaves like a map and a sorted array under any sequence of changes", () => {
    const key = fc.string({ unit: fc.constantFrom("/", "a", "b", "0", "-"), maxLength: 4 });
    const change = fc.record({ key, isDelete: fc.boolean() });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200 }), key, key, (changes, start, end) => {
        const entries = new SortedEntries();
        const model = new Map<string, Entry>();
        for (const { key: changed, isDelete } of changes) {
          const entry = entryOf(changed, model.size + 1);
          const previous = model.get(changed);
          expect(isDelete ? entries.delete(changed) : entries.set(entry)).toBe(previous);
          if (isDelete) model.delete(changed);
          else model.set(changed, entry);
        }
        const expected = [...model.keys()].sort().filter((each) => each >= start && each < end);
        expect(keysOf(entries.range(start, end))).toEqual(expected);
        expect(entries.size).toBe(model.size);
        for (const [each, entry] of model) expect(entries.get(each)).toBe(entry);
      }),
      { numRuns: 200 },
    );
  });

  test("returns a range as a snapshot that later changes do not affect", () => {
    const entries = new SortedEntries();
    entries.set(entryOf("a"));
    const before = entries.range("", "z");
    entries.set(entryOf("b"));
    entries.delete("a");
    expect(keysOf(before)).toEqual(["a"]);
  });
});

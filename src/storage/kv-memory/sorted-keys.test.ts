import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SortedKeys } from "./sorted-keys.ts";

describe("sorted keys", () => {
  test("return every range as a sorted set would, after any additions and deletions", () => {
    const key = fc.integer({ min: 0, max: 3000 }).map(String);
    fc.assert(
      fc.property(
        fc.array(key, { maxLength: 3000, size: "max" }),
        fc.array(key, { maxLength: 500 }),
        key,
        key,
        (added, deleted, start, end) => {
          const keys = new SortedKeys();
          for (const one of added) keys.add(one);
          for (const one of deleted) keys.delete(one);
          const expected = [...new Set(added)]
            .filter((one) => !deleted.includes(one) && one >= start && one < end)
            .sort();
          expect([...keys.range(start, end)]).toEqual(expected);
        },
      ),
      { numRuns: 50 },
    );
  });
});

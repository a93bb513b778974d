import { describe, expect, test } from "vitest";

import { keyAfter, StorageError, type KeyValue } from "./kv.ts";
import { readRange, type PageRequest, type RangePage } from "./read-range.ts";

const KEYS = ["a", "b", "c", "d", "e"];

describe("readRange", () => {
  test("reads later pages at the revision of the first page", async () => {
    const asked: PageRequest[] = [];
    const result = await readRange({ start: "a", end: "z" }, (page) => {
      asked.push(page);
      return Promise.resolve(pageOf(page, { revision: 7 + asked.length }));
    });
    expect(result).toMatchObject({ items: KEYS.map((key) => ({ key })), count: 5, revision: 8 });
    expect(asked.map(({ start, revision, isFirst }) => [start, revision, isFirst])).toEqual([
      ["a", undefined, true],
      ["b\0", 8, false],
      ["d\0", 8, false],
    ]);
  });

  test("stops at the limit and requests no more keys than the limit", async () => {
    const limits: number[] = [];
    const result = await readRange({ start: "a", end: "z", limit: 3, revision: 4 }, (page) => {
      limits.push(page.limit);
      return Promise.resolve(pageOf(page, { revision: 9 }));
    });
    expect(result.items.map(({ key }) => key)).toEqual(["a", "b", "c"]);
    expect(limits).toEqual([3, 1]);
  });

  test("counts the keys that it has read if the store returns no count", async () => {
    const read = (page: PageRequest): Promise<RangePage> =>
      Promise.resolve({ ...pageOf(page, { revision: 1 }), count: undefined });
    expect((await readRange({ start: "a", end: "z" }, read)).count).toBe(5);
  });

  test("restarts if the revision of the first page of a range of the newest revision is compacted", async () => {
    let revision = 10;
    const result = await readRange({ start: "a", end: "z" }, async (page) => {
      if (page.isFirst) revision++;
      else if (page.revision! < 12) throw compacted();
      return pageOf(page, { revision });
    });
    expect(result).toMatchObject({ items: { length: 5 }, revision: 12 });
  });

  test("gives up if the revision is compacted during every attempt", async () => {
    let attempts = 0;
    const reading = readRange({ start: "a", end: "z" }, async () => {
      attempts++;
      throw compacted();
    });
    await expect(reading).rejects.toMatchObject({ code: "revision-compacted" });
    expect(attempts).toBe(5);
  });

  test("fails at once if the requested revision is compacted", async () => {
    let attempts = 0;
    const reading = readRange({ start: "a", end: "z", revision: 3 }, async () => {
      attempts++;
      throw compacted();
    });
    await expect(reading).rejects.toMatchObject({ code: "revision-compacted" });
    expect(attempts).toBe(1);
  });
});

/** Returns a page of at most two keys. */
function pageOf({ start, limit }: PageRequest, { revision }: { readonly revision: number }): RangePage {
  const left = KEYS.filter((key) => key >= start);
  const items = left.slice(0, Math.min(2, limit)).map(item);
  const hasMore = left.length > items.length;
  return { items, revision, count: left.length, nextStart: hasMore ? keyAfter(items.at(-1)!.key) : undefined };
}

function item(key: string): KeyValue {
  return { key, value: Buffer.from(key), createRevision: 1, modRevision: 1 };
}

function compacted(): StorageError {
  return new StorageError("revision-compacted", "compacted", { revision: 12 });
}

import { describe, expect, test } from "vitest";
import { createByteCache } from "./byte-cache.ts";
import type { EncodedOpenApi } from "./documents.ts";

const KB = 1_024;
const documentOf = (bytes: number): EncodedOpenApi => ({ bytes: Buffer.alloc(bytes), hash: "" });

describe("a cache of documents", () => {
  test("never exceeds its size limit, and evicts the least recently used document first", () => {
    const cache = createByteCache(10 * KB);
    cache.set("a", documentOf(3 * KB));
    cache.set("b", documentOf(3 * KB));
    cache.get("a");
    cache.set("c", documentOf(3 * KB));
    expect(["a", "b", "c"].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true]);
    expect(cache.bytes).toBeLessThanOrEqual(10 * KB);
  });

  test("keeps its documents if a document that exceeds the limit alone is set", () => {
    const cache = createByteCache(10 * KB);
    cache.set("a", documentOf(KB));
    cache.set("b", documentOf(10 * KB));
    expect(cache.get("a")).toBeDefined();
    expect(cache.get("b")).toBeUndefined();
  });

  test("limits the number of small documents too", () => {
    const cache = createByteCache(10 * KB);
    for (let number = 0; number < 100; number++) cache.set(String(number), documentOf(0));
    expect(Array.from({ length: 100 }, (_, number) => cache.get(String(number))).filter(Boolean)).toHaveLength(10);
  });

  test("counts a document that was set twice only once, and a removed document not at all", () => {
    const cache = createByteCache(10 * KB);
    cache.set("a", documentOf(KB));
    cache.set("a", documentOf(2 * KB));
    expect(cache.bytes).toBe(3 * KB);
    cache.retain((key) => key !== "a");
    expect(cache.bytes).toBe(0);
  });
});

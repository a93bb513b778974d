/** Conformance tests of ranges, of reads at a revision, and of compaction. */
import { expect, test } from "vitest";
import { prefixEnd, type Kv, type RangeResult } from "../../../../src/storage/kv.ts";
import { bytes, create, expectStorageError, put, remove, type KvSuiteContext } from "./kv-fixture.ts";

export function rangeTests(context: KvSuiteContext): void {
  newestTests(context);
  revisionTests(context);
  compactionTests(context);
}

function keysOf(result: RangeResult, prefix: string): string[] {
  return result.items.map((item) => item.key.slice(prefix.length));
}

function all(prefix: string): { start: string; end: string } {
  return { start: prefix, end: prefixEnd(prefix) };
}

async function createAll(kv: Kv, prefix: string, names: readonly string[]): Promise<number> {
  const revisions = await Promise.all(names.map((name) => create(kv, prefix + name, name)));
  return Math.max(...revisions);
}

function newestTests(context: KvSuiteContext): void {
  test("keys are returned in byte order, regardless of the order of their creation", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    await createAll(fixture.kv, prefix, ["b", "a/2", "a-1", "B", "a", "a/10", "a.b", "Z", "_"]);
    expect(keysOf(await fixture.kv.range(all(prefix)), prefix)).toEqual([
      "B",
      "Z",
      "_",
      "a",
      "a-1",
      "a.b",
      "a/10",
      "a/2",
      "b",
    ]);
  });

  test("a range includes its start and excludes its end", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    await createAll(fixture.kv, prefix, ["a", "b", "c", "d"]);
    expect(keysOf(await fixture.kv.range({ start: `${prefix}b`, end: `${prefix}d` }), prefix)).toEqual(["b", "c"]);
  });

  test("a range without an end contains one key", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    await createAll(fixture.kv, prefix, ["a", "a/b", "aa"]);
    const result = await fixture.kv.range({ start: `${prefix}a` });
    expect(keysOf(result, prefix)).toEqual(["a"]);
    expect(result.count).toBe(1);
  });

  test("a range without keys returns the revision of the store", async () => {
    await using fixture = await context.open();
    const revision = await fixture.kv.currentRevision();
    const result = await fixture.kv.range(all(context.prefix()));
    expect(result).toMatchObject({ items: [], count: 0 });
    expect(result.revision).toBeGreaterThanOrEqual(revision);
  });

  test("a limit bounds the items, but not the count", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    await createAll(fixture.kv, prefix, ["a", "b", "c", "d", "e"]);
    const result = await fixture.kv.range({ ...all(prefix), limit: 2 });
    expect(keysOf(result, prefix)).toEqual(["a", "b"]);
    expect(result.count).toBe(5);
  });

  test("a limit above the number of keys returns all of them", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    await createAll(fixture.kv, prefix, ["a", "b"]);
    expect(await fixture.kv.range({ ...all(prefix), limit: 2 })).toMatchObject({ items: { length: 2 }, count: 2 });
    expect(await fixture.kv.range({ ...all(prefix), limit: 100 })).toMatchObject({ items: { length: 2 }, count: 2 });
  });

  test("a count-only range returns no items", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const revision = await createAll(fixture.kv, prefix, ["a", "b", "c"]);
    const result = await fixture.kv.range({ ...all(prefix), countOnly: true });
    expect(result).toMatchObject({ items: [], count: 3 });
    expect(result.revision).toBeGreaterThanOrEqual(revision);
  });

  test("deleted keys are neither listed nor counted", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    await createAll(fixture.kv, prefix, ["a", "c"]);
    await remove(fixture.kv, `${prefix}b`, await create(fixture.kv, `${prefix}b`));
    const result = await fixture.kv.range(all(prefix));
    expect(keysOf(result, prefix)).toEqual(["a", "c"]);
    expect(result.count).toBe(2);
    expect((await fixture.kv.range({ ...all(prefix), countOnly: true })).count).toBe(2);
  });

  test("a range sees every commit that was acknowledged before it", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    for (let index = 0; index < 5; index++) {
      const revision = await create(fixture.kv, `${prefix}${index}`);
      const result = await fixture.kv.range(all(prefix));
      expect(result.count).toBe(index + 1);
      expect(result.revision).toBeGreaterThanOrEqual(revision);
    }
  });

  test("three thousand keys are returned completely, both by one range and by pages at one revision", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const names = Array.from({ length: 3000 }, (_, index) => `key-${String(index).padStart(4, "0")}`);
    const revision = await createAll(fixture.kv, prefix, names);
    const whole = await fixture.kv.range(all(prefix));
    expect(keysOf(whole, prefix)).toEqual(names);
    expect(whole.items.every((item) => item.value.toString() === item.key.slice(prefix.length))).toBe(true);
    const paged: string[] = [];
    let start = prefix;
    while (paged.length < names.length) {
      const page = await fixture.kv.range({ start, end: prefixEnd(prefix), limit: 700, revision });
      expect(page.count).toBe(names.length - paged.length);
      paged.push(...keysOf(page, prefix));
      start = `${page.items.at(-1)!.key}\0`;
      await create(fixture.kv, `${prefix}key-${paged.length}-later`);
    }
    expect(paged).toEqual(names);
  });
}

function revisionTests(context: KvSuiteContext): void {
  test("a range at a revision returns the keys of that revision", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const a = await create(fixture.kv, `${prefix}a`, "a1");
    const b = await create(fixture.kv, `${prefix}b`, "b1");
    const a2 = await put(fixture.kv, { key: `${prefix}a`, value: "a2", expectedRevision: a });
    const gone = await remove(fixture.kv, `${prefix}b`, b);
    const again = await create(fixture.kv, `${prefix}b`, "b2");
    const valuesAt = async (revision: number): Promise<string[]> => {
      const { items, count } = await fixture.kv.range({ ...all(prefix), revision });
      expect(count).toBe(items.length);
      expect((await fixture.kv.range({ ...all(prefix), revision, countOnly: true })).count).toBe(items.length);
      return items.map((item) => `${item.value.toString()} ${item.createRevision} ${item.modRevision}`);
    };
    expect(await valuesAt(a)).toEqual([`a1 ${a} ${a}`]);
    expect(await valuesAt(b)).toEqual([`a1 ${a} ${a}`, `b1 ${b} ${b}`]);
    expect(await valuesAt(a2)).toEqual([`a2 ${a} ${a2}`, `b1 ${b} ${b}`]);
    expect(await valuesAt(gone)).toEqual([`a2 ${a} ${a2}`]);
    expect(await valuesAt(again)).toEqual([`a2 ${a} ${a2}`, `b2 ${again} ${again}`]);
  });

  test("a range without an end returns the value of its key at a given revision", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const first = await create(fixture.kv, key, "one");
    await put(fixture.kv, { key, value: "two", expectedRevision: first });
    expect((await fixture.kv.range({ start: key, revision: first })).items[0]?.value).toEqual(bytes("one"));
  });

  test("a range at an old revision returns the store's current revision", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const first = await create(fixture.kv, `${prefix}a`);
    const second = await create(fixture.kv, `${prefix}b`);
    expect((await fixture.kv.range({ ...all(prefix), revision: first })).revision).toBeGreaterThanOrEqual(second);
  });

  test("a range or compaction at a future revision is rejected with code revision-future", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const revision = (await fixture.kv.currentRevision()) + 1_000_000;
    const error = await expectStorageError(fixture.kv.range({ ...all(prefix), revision }), "revision-future");
    if (error.revision !== undefined) expect(error.revision).toBeLessThan(revision);
    if (context.capabilities.canCompact) await expectStorageError(fixture.kv.compact(revision), "revision-future");
  });
}

function compactionTests(context: KvSuiteContext): void {
  const compactionTest = test.runIf(context.capabilities.canCompact);

  compactionTest(
    "revisions below the compacted one cannot be read; the compacted one and the current one can",
    async () => {
      await using fixture = await context.open();
      const prefix = context.prefix();
      const first = await create(fixture.kv, `${prefix}a`, "one");
      const second = await put(fixture.kv, { key: `${prefix}a`, value: "two", expectedRevision: first });
      await put(fixture.kv, { key: `${prefix}a`, value: "three", expectedRevision: second });
      await fixture.kv.compact(second);
      const error = await expectStorageError(
        fixture.kv.range({ ...all(prefix), revision: first }),
        "revision-compacted",
      );
      if (error.revision !== undefined) expect(error.revision).toBeGreaterThanOrEqual(second);
      expect((await fixture.kv.range({ ...all(prefix), revision: second })).items[0]?.value).toEqual(bytes("two"));
      expect((await fixture.kv.range(all(prefix))).items[0]?.value).toEqual(bytes("three"));
    },
  );

  compactionTest("compaction keeps the keys that exist at the revision, however old they are", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const a = await create(fixture.kv, `${prefix}a`, "a");
    await remove(fixture.kv, `${prefix}b`, await create(fixture.kv, `${prefix}b`));
    const c = await create(fixture.kv, `${prefix}c`, "c");
    await fixture.kv.compact(c);
    const result = await fixture.kv.range(all(prefix));
    expect(keysOf(result, prefix)).toEqual(["a", "c"]);
    expect(result.items[0]).toMatchObject({ createRevision: a, modRevision: a });
    expect(await create(fixture.kv, `${prefix}b`)).toBeGreaterThan(c);
  });

  compactionTest("compacting at the same or an older revision has no effect", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const first = await create(fixture.kv, `${prefix}a`);
    const second = await create(fixture.kv, `${prefix}b`);
    await fixture.kv.compact(second);
    await fixture.kv.compact(second);
    await fixture.kv.compact(first);
    await expectStorageError(fixture.kv.range({ ...all(prefix), revision: first }), "revision-compacted");
  });

  compactionTest("revisions keep increasing after a key was deleted and its deletion compacted", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const deleted = await remove(fixture.kv, `${prefix}a`, await create(fixture.kv, `${prefix}a`));
    await fixture.kv.compact(deleted);
    expect(await fixture.kv.currentRevision()).toBeGreaterThanOrEqual(deleted);
    expect(await create(fixture.kv, `${prefix}a`)).toBeGreaterThan(deleted);
  });
}

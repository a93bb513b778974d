/** Conformance tests of commits: puts and deletes that are executed only if the key has the expected revision. */
import { expect, test } from "vitest";
import type { Kv } from "../../../../src/storage/kv.ts";
import {
  Recorder,
  bytes,
  create,
  describeEvent,
  expectStorageError,
  put,
  remove,
  type KvSuiteContext,
} from "./kv-fixture.ts";

export function commitTests(context: KvSuiteContext): void {
  outcomeTests(context);
  revisionTests(context);
  valueTests(context);
}

function outcomeTests(context: KvSuiteContext): void {
  test("a put that expects the key to be absent creates it", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const revision = await create(fixture.kv, key, "one");
    const { items } = await fixture.kv.range({ start: key });
    expect(items).toEqual([{ key, value: bytes("one"), createRevision: revision, modRevision: revision }]);
  });

  test("a put that expects the key to be absent fails if the key exists, and returns its current state", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const revision = await create(fixture.kv, key, "one");
    const result = await fixture.kv.commit({ kind: "put", key, value: bytes("two"), expectedRevision: 0 });
    expect(result).toMatchObject({
      committed: false,
      current: { key, value: bytes("one"), createRevision: revision, modRevision: revision },
    });
    expect(result.revision).toBeGreaterThanOrEqual(revision);
  });

  test("an update with the expected revision keeps the create revision", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const created = await create(fixture.kv, key, "one");
    const updated = await put(fixture.kv, { key, value: "two", expectedRevision: created });
    const { items } = await fixture.kv.range({ start: key });
    expect(items).toEqual([{ key, value: bytes("two"), createRevision: created, modRevision: updated }]);
  });

  test("an update that expects an outdated revision changes nothing and returns the current state", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const created = await create(fixture.kv, key, "one");
    const updated = await put(fixture.kv, { key, value: "two", expectedRevision: created });
    const result = await fixture.kv.commit({ kind: "put", key, value: bytes("three"), expectedRevision: created });
    expect(result).toMatchObject({
      committed: false,
      current: { value: bytes("two"), createRevision: created, modRevision: updated },
    });
    expect((await fixture.kv.range({ start: key })).items[0]?.value).toEqual(bytes("two"));
  });

  test("an update of an absent key fails without a current state", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const revision = await fixture.kv.currentRevision();
    const result = await fixture.kv.commit({ kind: "put", key, value: bytes("x"), expectedRevision: revision });
    expect(result).toMatchObject({ committed: false, current: undefined });
  });

  test("a delete with the expected revision removes the key", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const created = await create(fixture.kv, key);
    const deleted = await remove(fixture.kv, key, created);
    expect(deleted).toBeGreaterThan(created);
    expect(await fixture.kv.range({ start: key })).toMatchObject({ items: [], count: 0 });
  });

  test("a delete that expects an outdated revision changes nothing and returns the current state", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const created = await create(fixture.kv, key, "one");
    const updated = await put(fixture.kv, { key, value: "two", expectedRevision: created });
    const result = await fixture.kv.commit({ kind: "delete", key, expectedRevision: created });
    expect(result).toMatchObject({ committed: false, current: { value: bytes("two"), modRevision: updated } });
  });

  test("a delete of an absent key commits nothing", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    expect(await fixture.kv.commit({ kind: "delete", key, expectedRevision: 0 })).toMatchObject({
      committed: false,
      current: undefined,
    });
  });

  test("a key created again after its deletion has a new create revision", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    await remove(fixture.kv, key, await create(fixture.kv, key, "one"));
    const again = await create(fixture.kv, key, "two");
    const { items } = await fixture.kv.range({ start: key });
    expect(items).toEqual([{ key, value: bytes("two"), createRevision: again, modRevision: again }]);
  });

  test("exactly one of many concurrent updates that expect the same revision is committed", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const created = await create(fixture.kv, key);
    const attempts = Array.from({ length: 20 }, (_, index) =>
      fixture.kv.commit({ kind: "put", key, value: bytes(String(index)), expectedRevision: created }),
    );
    const results = await Promise.all(attempts);
    const winners = results.filter((result) => result.committed);
    expect(winners).toHaveLength(1);
    const { items } = await fixture.kv.range({ start: key });
    expect(items[0]?.value).toEqual(bytes(String(results.indexOf(winners[0]!))));
    expect(items[0]?.modRevision).toBe(winners[0]!.revision);
  });
}

function revisionTests(context: KvSuiteContext): void {
  test("every commit has a higher revision than the commits acknowledged before it", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    let last = await fixture.kv.currentRevision();
    for (let index = 0; index < 10; index++) {
      const revision = await create(fixture.kv, `${prefix}${index}`);
      expect(revision).toBeGreaterThan(last);
      last = revision;
    }
  });

  test("concurrent commits all have distinct revisions", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const revisions = await Promise.all(
      Array.from({ length: 50 }, (_, index) => create(fixture.kv, `${prefix}${index}`)),
    );
    expect(new Set(revisions).size).toBe(50);
  });

  test.runIf(context.capabilities.isExclusive)("every successful commit increases the revision by one", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const before = await fixture.kv.currentRevision();
    expect(await create(fixture.kv, `${prefix}a`)).toBe(before + 1);
    expect(await remove(fixture.kv, `${prefix}a`, before + 1)).toBe(before + 2);
    expect(await fixture.kv.currentRevision()).toBe(before + 2);
  });

  test.runIf(context.capabilities.isExclusive)("a failed commit does not increase the revision", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const created = await create(fixture.kv, key);
    const result = await fixture.kv.commit({ kind: "put", key, value: bytes("x"), expectedRevision: 0 });
    await fixture.kv.commit({ kind: "delete", key: `${key}-absent`, expectedRevision: 0 });
    expect(result.revision).toBe(created);
    expect(await fixture.kv.currentRevision()).toBe(created);
  });

  test("watchers do not see a failed commit", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const created = await create(fixture.kv, `${prefix}a`);
    const recorder = Recorder.start(fixture.kv, { prefix, fromRevision: created + 1 });
    await fixture.kv.commit({ kind: "put", key: `${prefix}a`, value: bytes("x"), expectedRevision: 0 });
    const next = await create(fixture.kv, `${prefix}b`);
    expect((await recorder.first(1)).map((event) => describeEvent(event, prefix))).toEqual([`put b@${next}`]);
  });

  test("the current revision is never lower than that of an acknowledged commit", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    for (let index = 0; index < 10; index++) {
      const revision = await create(fixture.kv, `${prefix}${index}`);
      expect(await fixture.kv.currentRevision()).toBeGreaterThanOrEqual(revision);
    }
  });
}

function valueTests(context: KvSuiteContext): void {
  test("values are opaque bytes", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const everyByte = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    await create(fixture.kv, `${prefix}bytes`, everyByte);
    await create(fixture.kv, `${prefix}zeros`, Buffer.alloc(100));
    await create(fixture.kv, `${prefix}invalid-utf8`, Buffer.from([0xff, 0xfe, 0xc0, 0x80]));
    const values = await Promise.all(
      ["bytes", "zeros", "invalid-utf8"].map(async (name) => valueOf(fixture.kv, prefix + name)),
    );
    expect(values).toEqual([everyByte, Buffer.alloc(100), Buffer.from([0xff, 0xfe, 0xc0, 0x80])]);
  });

  test("an empty value is stored and read as an empty value", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    const created = await create(fixture.kv, key, Buffer.alloc(0));
    expect(await valueOf(fixture.kv, key)).toEqual(Buffer.alloc(0));
    const result = await fixture.kv.commit({ kind: "put", key, value: bytes("x"), expectedRevision: 0 });
    expect(result).toMatchObject({ committed: false, current: { value: Buffer.alloc(0), modRevision: created } });
  });

  test("values of 1.4 MB are stored, read and watched", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const value = Buffer.alloc(1_400_000, "0123456789abcdef");
    const created = await create(fixture.kv, `${prefix}a`, value);
    expect((await valueOf(fixture.kv, `${prefix}a`)).equals(value)).toBe(true);
    const [event] = await Recorder.start(fixture.kv, { prefix, fromRevision: created }).first(1);
    expect(event?.kind === "put" && event.value.equals(value)).toBe(true);
  });

  test("a value that is a slice of a larger buffer is stored without the rest of the buffer", async () => {
    await using fixture = await context.open();
    const key = `${context.prefix()}a`;
    await create(fixture.kv, key, bytes("before-slice-after").subarray(7, 12));
    expect(await valueOf(fixture.kv, key)).toEqual(bytes("slice"));
  });

  test("a value that is too large is rejected, and the store keeps working", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const value = Buffer.alloc(64 * 1024 * 1024);
    await expectStorageError(
      fixture.kv.commit({ kind: "put", key: `${prefix}a`, value, expectedRevision: 0 }),
      "too-large",
    );
    await create(fixture.kv, `${prefix}b`);
  });
}

async function valueOf(kv: Kv, key: string): Promise<Buffer> {
  const { items } = await kv.range({ start: key });
  expect(items).toHaveLength(1);
  return items[0]!.value;
}

/** Conformance tests of closing and reopening a store. */
import { expect, test } from "vitest";
import { Recorder, bytes, create, expectStorageError, remove, type KvSuiteContext } from "./kv-fixture.ts";

export function lifecycleTests(context: KvSuiteContext): void {
  test("after the store is closed, every call fails with code unavailable", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const key = `${context.prefix()}a`;
    const revision = await create(kv, key);
    await kv.close();
    await expectStorageError(kv.range({ start: key }), "unavailable");
    await expectStorageError(kv.commit({ kind: "delete", key, expectedRevision: revision }), "unavailable");
    await expectStorageError(kv.currentRevision(), "unavailable");
    await expectStorageError(kv.compact(revision), "unavailable");
    await expectStorageError(kv.leaseGrant(60), "unavailable");
    await expectStorageError(kv.leaseKeepAlive("1"), "unavailable");
    await expectStorageError(kv.leaseRevoke("1"), "unavailable");
    const recorder = Recorder.start(kv, { prefix: key, fromRevision: revision });
    expect(await recorder.closing()).toMatchObject({ code: "unavailable" });
    expect(recorder.all).toEqual([]);
  });

  test("closing a store twice has no effect", async () => {
    await using fixture = await context.open();
    await Promise.all([fixture.kv.close(), fixture.kv.close()]);
    await fixture.kv.close();
  });

  test("close waits for running commits", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const commits = Array.from({ length: 20 }, (_, index) => create(fixture.kv, `${prefix}${index}`));
    const closing = fixture.kv.close();
    expect(new Set(await Promise.all(commits)).size).toBe(20);
    await closing;
  });

  test("a reopened store has the data, history and revisions that were written before it was closed", async ({
    skip,
  }) => {
    await using fixture = await context.open();
    if (fixture.reopen === undefined) return skip("the data of this store does not outlive its handle");
    const prefix = context.prefix();
    const a = await create(fixture.kv, `${prefix}a`, "a");
    const b = await create(fixture.kv, `${prefix}b`, "b");
    const deleted = await remove(fixture.kv, `${prefix}b`, b);
    if (context.capabilities.canCompact) await fixture.kv.compact(deleted);
    await fixture.kv.close();
    const kv = await fixture.reopen();
    expect(await kv.currentRevision()).toBeGreaterThanOrEqual(deleted);
    const { items } = await kv.range({ start: prefix, end: `${prefix}~` });
    expect(items).toEqual([{ key: `${prefix}a`, value: bytes("a"), createRevision: a, modRevision: a }]);
    if (context.capabilities.canCompact)
      await expectStorageError(kv.range({ start: prefix, revision: a }), "revision-compacted");
    const next = await create(kv, `${prefix}c`);
    expect(next).toBeGreaterThan(deleted);
    const events = await Recorder.start(kv, { prefix, fromRevision: deleted + 1 }).through(next);
    expect(events.map((event) => event.modRevision)).toEqual([next]);
  });
}

import { describe, expect, test } from "vitest";
import { create, expectStorageError, put, remove } from "../../test/testing/storage/conformance/kv-fixture.ts";
import { createManualClock, type ManualClock } from "../../test/testing/storage/conformance/manual-clock.ts";
import { createMemoryStore } from "./kv-memory/kv.ts";
import type { Kv } from "./kv.ts";
import { createObjectStore, type ListPage, type ObjectStore } from "./object-store.ts";
import { holdKv, type HeldKv } from "../../test/testing/storage/held-kv.ts";
import { WatchCache } from "./watch-cache/cache.ts";
import { CATCH_UP_MS, DELIVERY_WAIT_MS, FUTURE_VERSION_WAIT_MS } from "./watch-cache/cache-limits.ts";

const KEY = "/registry/pods/a/x";
const RANGE = { start: "/registry/pods/", end: "/registry/pods0" };

function object(name: string): Buffer {
  return Buffer.from(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${name}"}}`);
}

function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

async function open(
  arrange: (held: HeldKv) => unknown = () => {},
): Promise<{ store: ObjectStore; held: HeldKv; writer: Kv; clock: ManualClock }> {
  const clock = createManualClock();
  const memory = createMemoryStore({ clock });
  const held = holdKv(memory.open());
  arrange(held);
  const cache = new WatchCache({ kv: held.kv, clock, root: "/registry/" });
  void cache.run(new AbortController().signal);
  await settled();
  return { store: createObjectStore(held.kv, cache), held, writer: memory.open(), clock };
}

describe("reading from the object store", () => {
  test("returns the newest state from the cache if the cache is current", async () => {
    const { store, writer, held } = await open();
    const revision = await create(writer, KEY, object("x"));
    const read = held.rangesRead();
    expect(await store.get(KEY, { kind: "newest" })).toMatchObject({ modRevision: revision });
    expect(await store.list(RANGE, { kind: "newest" })).toMatchObject({ revision, entries: [{ key: KEY }] });
    expect(held.rangesRead()).toBe(read);
  });

  test("returns the newest state at once only while the cache is known to be current", async () => {
    let known: number | undefined;
    const { store, writer } = await open(({ kv }) => (kv.revisionNow = () => known));
    const revision = await create(writer, KEY, object("x"));
    expect(store.getNow(KEY, { kind: "newest" })).toBe("unknown");
    known = revision;
    expect(store.getNow(KEY, { kind: "newest" })).toMatchObject({ modRevision: revision });
    expect(store.getNow("/registry/pods/a/y", { kind: "newest" })).toBeUndefined();
    expect(store.getNow(KEY, { kind: "any" })).toBe("unknown");
    known = revision + 1;
    expect(store.getNow(KEY, { kind: "newest" })).toBe("unknown");
  });

  test("reads the newest state from the store if the cache does not catch up in time", async () => {
    const { store, writer, held, clock } = await open();
    held.hold();
    const revision = await create(writer, KEY, object("x"));
    const [one, all] = [store.get(KEY, { kind: "newest" }), store.list(RANGE, { kind: "newest" })];
    await settled();
    clock.advance(CATCH_UP_MS);
    expect(await one).toMatchObject({ modRevision: revision });
    expect(await all).toMatchObject({ revision, entries: [{ key: KEY, modRevision: revision }] });
  });

  test("fails if the caller requires the newest state and the store is unreachable", async () => {
    const { store, held } = await open();
    held.fail(1);
    await expectStorageError(store.get(KEY, { kind: "newest" }), "unavailable");
  });

  test("returns the cached state if the caller accepts any state, even if the store is unreachable", async () => {
    const { store, writer, held } = await open();
    await create(writer, KEY, object("x"));
    held.hold();
    held.fail(1_000);
    await create(writer, "/registry/pods/a/y", object("y"));
    expect(await store.get(KEY, { kind: "any" })).toMatchObject({ key: KEY });
    expect((await store.list(RANGE, { kind: "any" })).entries).toHaveLength(1);
  });

  test("fails until the cache has loaded", async () => {
    const { store } = await open((held) => held.fail(1_000));
    for (const kind of ["any", "newest"] as const) await expectStorageError(store.get(KEY, { kind }), "unavailable");
    await expectStorageError(store.list(RANGE, { kind: "not-older-than", revision: 1 }), "unavailable");
  });

  test("waits until the cache has reached the revision of not-older-than", async () => {
    const { store, writer } = await open();
    const revision = store.cache.revision + 1;
    const waiting = store.get(KEY, { kind: "not-older-than", revision });
    await create(writer, KEY, object("x"));
    expect(await waiting).toMatchObject({ modRevision: revision });
    expect(await store.get(KEY, { kind: "not-older-than", revision: 1 })).toMatchObject({ modRevision: revision });
  });

  test("fails with kube-apiserver's message if a requested revision does not arrive in time", async () => {
    const { store, clock } = await open();
    const waiting = store.list(RANGE, { kind: "not-older-than", revision: 99 });
    await settled();
    clock.advance(FUTURE_VERSION_WAIT_MS);
    expect((await expectStorageError(waiting, "revision-future")).message).toBe(
      "Too large resource version: 99, current: 1",
    );
    const exact = store.listAt(RANGE, 99);
    await settled();
    clock.advance(FUTURE_VERSION_WAIT_MS);
    await expectStorageError(exact, "revision-future");
  });

  test("at an exact revision returns the cached state if nothing has changed since, otherwise the state in the store", async () => {
    const { store, writer, held } = await open();
    const first = await create(writer, KEY, object("x"));
    await create(writer, "/registry/services/a/x", object("x"));
    const read = held.rangesRead();
    expect(await store.listAt(RANGE, first + 1)).toMatchObject({
      revision: first + 1,
      entries: [{ modRevision: first }],
    });
    expect(held.rangesRead()).toBe(read);
    await put(writer, { key: KEY, value: object("x"), expectedRevision: first });
    expect(await store.listAt(RANGE, first)).toMatchObject({ revision: first, entries: [{ modRevision: first }] });
    expect(held.rangesRead()).toBe(read + 1);
  });

  test("with a limit returns the first entries from the cache, and the number of all entries", async () => {
    const { store, writer, held } = await open();
    let revision = 0;
    for (const name of ["a", "b", "c", "d"]) revision = await create(writer, `/registry/pods/a/${name}`, object(name));
    await create(writer, "/registry/services/a/x", object("x"));
    const read = held.rangesRead();
    const names = ({ entries }: ListPage): string[] => entries.map(({ key }) => key.slice("/registry/pods/a/".length));
    const first = await store.list(RANGE, { kind: "newest" }, 2);
    expect([names(first), first.count]).toEqual([["a", "b"], 4]);
    const next = await store.listAt({ ...RANGE, start: "/registry/pods/a/b\u0000" }, revision, 1);
    expect([names(next), next.count]).toEqual([["c"], 2]);
    expect(held.rangesRead()).toBe(read);
  });

  test("fails if the requested revision is compacted", async () => {
    const { store, writer } = await open();
    const first = await create(writer, KEY, object("x"));
    const second = await put(writer, { key: KEY, value: object("x"), expectedRevision: first });
    await writer.compact(second);
    await expectStorageError(store.listAt(RANGE, first), "revision-compacted");
  });
});

describe("writing to the object store", () => {
  test("creates, replaces and removes an object only if its revision is the expected one", async () => {
    const { store } = await open();
    const created = await store.create(KEY, object("x"));
    if (!created.committed) throw new Error("the create was lost");
    expect(created.entry).toBe(store.cache.get(KEY));
    const replaced = await store.replace(created.entry, object("x"));
    if (!replaced.committed) throw new Error("the replace was lost");
    expect(replaced.entry).toMatchObject({ createRevision: created.entry.modRevision });
    expect(await store.replace(created.entry, object("x"))).toMatchObject({
      committed: false,
      current: { modRevision: replaced.entry.modRevision },
    });
    expect(await store.remove(created.entry)).toMatchObject({
      committed: false,
      current: { modRevision: replaced.entry.modRevision },
    });
    expect(await store.remove(replaced.entry)).toEqual({ committed: true, revision: replaced.entry.modRevision + 1 });
    expect(await store.remove(replaced.entry)).toEqual({ committed: false, current: undefined });
  });

  test("does not create a key that exists", async () => {
    const { store, writer } = await open();
    const revision = await create(writer, KEY, object("x"));
    expect(await store.create(KEY, object("y"))).toMatchObject({
      committed: false,
      current: { modRevision: revision },
    });
  });

  test("acknowledges a write only after the watchers have received its event", async () => {
    const { store, held } = await open();
    const order: string[] = [];
    store.cache.follow("/registry/pods/", store.cache.revision, {
      deliver: ({ kind, revision }) => {
        order.push(`event ${kind} ${revision}`);
        return "sent";
      },
      fellBehind: () => order.push("fell behind"),
    });
    // As etcd does, acknowledges each commit before its event.
    const acknowledged = async <T>(writing: Promise<T>, name: string): Promise<T> => {
      await settled();
      held.release();
      held.hold();
      const result = await writing;
      order.push(name);
      return result;
    };
    held.hold();
    const created = await acknowledged(store.create(KEY, object("x")), "created");
    if (!created.committed) throw new Error("the create was lost");
    expect(created.entry).toBe(store.cache.get(KEY));
    const replaced = await acknowledged(store.replace(created.entry, object("x")), "replaced");
    if (!replaced.committed) throw new Error("the replace was lost");
    await acknowledged(store.remove(replaced.entry), "removed");
    expect(order).toEqual(["event put 2", "created", "event put 3", "replaced", "event delete 4", "removed"]);
  });

  test("does not wait for an event that is older than those that the watchers have received", async () => {
    const { store, held, writer } = await open();
    held.hold();
    await create(writer, `${KEY}-2`, object("y"));
    const writing = store.create(KEY, object("x"));
    await create(writer, `${KEY}-3`, object("z"));
    held.release();
    expect(await writing).toMatchObject({ committed: true, entry: { modRevision: 3 } });
    expect(store.cache.revision).toBe(4);
  });

  test("waits for a stalled watch once and for a bounded time, and again after the watch has caught up", async () => {
    const { store, held, clock } = await open();
    held.hold();
    const late = store.create(KEY, object("x"));
    await settled();
    clock.advance(DELIVERY_WAIT_MS);
    expect(await late).toMatchObject({ committed: true });
    // The clock does not advance, so a write that waited would never complete.
    expect(await store.create(`${KEY}-2`, object("y"))).toMatchObject({ committed: true });
    held.release();
    held.hold();
    let isDone = false;
    const next = store.create(`${KEY}-3`, object("z")).then(() => (isDone = true));
    await settled();
    expect(isDone).toBe(false);
    held.release();
    await next;
  });

  test("does not wait for its event while the watch is interrupted", async () => {
    const { store, held } = await open();
    held.hold();
    held.interrupt(true);
    expect(await store.create(KEY, object("x"))).toMatchObject({ committed: true });
  });

  test("returns a correct entry even if the cache has not received the write in time", async () => {
    const { store, held, clock } = await open();
    held.hold();
    const creating = store.create(KEY, object("x"));
    await settled();
    clock.advance(DELIVERY_WAIT_MS);
    const created = await creating;
    if (!created.committed) throw new Error("the create was lost");
    expect(store.cache.get(KEY)).toBeUndefined();
    expect(created.entry).toMatchObject({ modRevision: 2, createRevision: 2 });
    expect(created.entry.item.toString()).toBe(',{"metadata":{"resourceVersion":"2","name":"x"}}');
    expect(await store.replace(created.entry, object("x"))).toMatchObject({
      committed: true,
      entry: { modRevision: 3, createRevision: 2 },
    });
  });

  test("checks the guards of a write, and reports the first guard that does not hold", async () => {
    const { store, writer } = await open();
    const guardKey = "/registry/guard";
    const absent = { key: guardKey, revision: 0 };
    const created = await store.create(KEY, object("x"), undefined, [absent]);
    if (!created.committed) throw new Error("the create was lost");
    const guard = { key: guardKey, revision: await create(writer, guardKey, object("guard")) };
    const current = { key: KEY, modRevision: created.entry.modRevision };
    const lost = { committed: false, lostGuard: guardKey };
    expect(await store.replace(created.entry, object("y"), undefined, [absent])).toMatchObject({ ...lost, current });
    expect(await store.create(`${KEY}-2`, object("y"), undefined, [absent])).toEqual({ ...lost, current: undefined });
    expect(await store.create(KEY, object("y"), undefined, [guard])).toMatchObject({
      committed: false,
      lostGuard: undefined,
      current,
    });
    expect(await store.replace(created.entry, object("y"), undefined, [guard])).toMatchObject({
      committed: true,
      entry: { modRevision: guard.revision + 1 },
    });
    const other = { key: `${guardKey}-2`, revision: 0 };
    expect(await store.create(`${KEY}-2`, object("y"), undefined, [other, absent])).toMatchObject(lost);
    expect(await store.create(`${KEY}-2`, object("y"), undefined, [other, guard])).toMatchObject({ committed: true });
  });

  test("deletes an object when its lease ends", async () => {
    const { store, writer } = await open();
    const lease = await writer.leaseGrant(60);
    await store.create(KEY, object("x"), lease);
    await writer.leaseRevoke(lease);
    expect(store.cache.get(KEY)).toBeUndefined();
  });

  test("can remove an object that cannot be decoded", async () => {
    const { store, writer } = await open();
    await create(writer, KEY, "broken");
    const entry = await store.get(KEY, { kind: "newest" });
    expect(entry?.corrupt).toBe("the value is not valid JSON");
    expect(await store.remove(entry!)).toMatchObject({ committed: true });
    await expect(remove(writer, KEY, 2)).rejects.toThrow();
  });
});

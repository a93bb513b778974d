import { describe, expect, test } from "vitest";
import { create, put, remove } from "../../../test/testing/storage/conformance/kv-fixture.ts";
import { createManualClock, type ManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import { overlaidKv } from "../overlaid-kv.ts";
import { createMemoryStore } from "../kv-memory/kv.ts";
import { StorageError, type Kv } from "../kv.ts";
import { holdKv, type HeldKv } from "../../../test/testing/storage/held-kv.ts";
import { WatchCache, type CacheState } from "./cache.ts";
import type { CacheEvent, Delivery, HistoryWatcher } from "./history.ts";
import { CATCH_UP_MS, HISTORY_EVENTS_MAX } from "./cache-limits.ts";

interface Fixture {
  readonly clock: ManualClock;
  /** A second handle to the store, which only the test uses. */
  readonly writer: Kv;
  readonly held: HeldKv;
  readonly cache: WatchCache;
  readonly states: CacheState[];
  readonly stopped: Promise<void>;
  stop(): void;
}

function object(name: string): string {
  return `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${name}"}}`;
}

function open(prepare: (writer: Kv) => Promise<unknown> = async () => {}): Promise<Fixture> {
  return openWith(prepare, (held) => held);
}

async function openWith(
  prepare: (writer: Kv) => Promise<unknown>,
  arrange: (held: HeldKv) => unknown,
): Promise<Fixture> {
  const clock = createManualClock();
  const store = createMemoryStore({ clock });
  const writer = store.open();
  await prepare(writer);
  const held = holdKv(store.open());
  arrange(held);
  const states: CacheState[] = [];
  const cache = new WatchCache({
    kv: held.kv,
    clock,
    root: "/registry/",
    onStateChange: (state) => states.push(state),
  });
  const stopping = new AbortController();
  const stopped = cache.run(stopping.signal);
  await settled();
  return { clock, writer, held, cache, states, stopped, stop: () => stopping.abort() };
}

/** Nothing in these tests waits for timers or I/O, so all promises have settled after one turn of the event loop. */
function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

class Recorder implements HistoryWatcher {
  readonly events: string[] = [];
  isTaking = true;
  fellBehindCount = 0;

  deliver(event: CacheEvent): Delivery {
    const { kind, entry, previous } = event;
    this.events.push(
      `${kind} ${entry.key}@${event.revision}${previous === undefined ? "" : ` was ${previous.modRevision}`}`,
    );
    return this.isTaking ? "sent" : "full";
  }

  fellBehind(): void {
    this.fellBehindCount++;
  }
}

describe("loading the watch cache", () => {
  test("reads everything under the root, and nothing else", async () => {
    const { cache, states } = await open(async (kv) => {
      await create(kv, "/registry/pods/a/x", object("x"));
      await create(kv, "/registry/pods/b/y", object("y"));
      await create(kv, "/registry/apps/deployments/a/z", object("z"));
      await create(kv, "/other/pods/a/x", object("x"));
    });
    expect(states).toEqual(["following"]);
    expect(cache).toMatchObject({ state: "following", revision: 5 });
    expect([cache.count("/registry/pods/"), cache.count("/registry/apps/"), cache.count("/registry/none/")]).toEqual([
      2, 1, 0,
    ]);
    expect(cache.get("/registry/pods/a/x")).toMatchObject({ modRevision: 2, createRevision: 2, kind: "Pod" });
    expect(cache.get("/registry/pods/a/nothing")).toBeUndefined();
    expect(cache.range("/registry/pods/", "/registry/pods0").map((entry) => entry.key)).toEqual([
      "/registry/pods/a/x",
      "/registry/pods/b/y",
    ]);
    expect(cache.range("/registry/none/", "/registry/none0")).toEqual([]);
  });

  test("is retried until the store responds", async () => {
    const { cache, states, clock } = await openWith(
      async () => {},
      (held) => held.fail(2),
    );
    expect(cache.state).toBe("loading");
    clock.advance(250);
    await settled();
    expect(cache.state).toBe("loading");
    clock.advance(250);
    await settled();
    expect(states).toEqual(["following"]);
  });

  test("continues if values cannot be decoded", async () => {
    const values = [
      "",
      "{",
      "[]",
      "null",
      '{"kind":"Pod","apiVersion":"v1"}',
      "k8s\u0000\u0001",
      `{"x":${"[".repeat(100_000)}${"]".repeat(100_000)},"kind":"Pod","apiVersion":"v1","metadata":{}}`,
    ];
    const { cache, writer } = await open(async (kv) => {
      for (const [index, value] of values.entries()) await create(kv, `/registry/pods/a/bad${index}`, value);
      await create(kv, "/registry/pods/a/good", object("good"));
    });
    expect(cache.state).toBe("following");
    const entries = cache.range("/registry/pods/", "/registry/pods0");
    expect(entries.filter((entry) => entry.corrupt !== undefined)).toHaveLength(values.length);
    expect([...cache.corrupt.keys()]).toEqual(values.map((_, index) => `/registry/pods/a/bad${index}`));
    const follower = new Recorder();
    cache.follow("/registry/pods/", cache.revision, follower);
    for (const [index, value] of values.entries()) await create(writer, `/registry/pods/b/bad${index}`, value);
    await remove(writer, "/registry/pods/a/bad0", cache.get("/registry/pods/a/bad0")!.modRevision);
    expect(cache.state).toBe("following");
    expect(follower.events).toHaveLength(values.length + 1);
    expect(cache.corrupt.size).toBe(2 * values.length - 1);
    const { key, modRevision } = cache.get("/registry/pods/a/bad1")!;
    await put(writer, { key, value: object("bad1"), expectedRevision: modRevision });
    expect(cache.corrupt.has(key)).toBe(false);
  });

  test("ends when the cache is stopped, even if the store does not respond", async () => {
    const stopping = new AbortController();
    const clock = createManualClock();
    const silent = overlaidKv(createMemoryStore({ clock }).open(), { range: () => new Promise(() => {}) });
    const cache = new WatchCache({ kv: silent, clock, root: "/registry/" });
    const stopped = cache.run(stopping.signal);
    stopping.abort();
    await stopped;
    expect(cache.state).toBe("loading");
  });

  test("ends when the cache is stopped, even if the store fails every read", async () => {
    const fixture = await openWith(
      async () => {},
      (held) => held.fail(1_000),
    );
    fixture.stop();
    await fixture.stopped;
    expect(fixture.cache.state).toBe("loading");
  });
});

describe("a loaded watch cache", () => {
  test("contains a write before the write is acknowledged", async () => {
    const { cache, writer } = await open();
    const created = await create(writer, "/registry/pods/a/x", object("x"));
    expect(cache.get("/registry/pods/a/x")).toMatchObject({ modRevision: created });
    const updated = await put(writer, { key: "/registry/pods/a/x", value: object("x"), expectedRevision: created });
    expect(cache.get("/registry/pods/a/x")).toMatchObject({ modRevision: updated, createRevision: created });
    const removed = await remove(writer, "/registry/pods/a/x", updated);
    expect(cache.get("/registry/pods/a/x")).toBeUndefined();
    expect(cache.revision).toBe(removed);
  });

  test("delivers each change to watchers, together with the state before the change", async () => {
    const { cache, writer } = await open();
    const follower = new Recorder();
    cache.follow("/registry/pods/a/", cache.revision, follower);
    const created = await create(writer, "/registry/pods/a/x", object("x"));
    await create(writer, "/registry/pods/b/x", object("x"));
    await create(writer, "/registry/services/a/x", object("x"));
    const updated = await put(writer, { key: "/registry/pods/a/x", value: object("x"), expectedRevision: created });
    const removed = await remove(writer, "/registry/pods/a/x", updated);
    expect(follower.events).toEqual([
      `put /registry/pods/a/x@${created}`,
      `put /registry/pods/a/x@${updated} was ${created}`,
      `delete /registry/pods/a/x@${removed} was ${updated}`,
    ]);
  });

  test("advances its revision before it delivers the event", async () => {
    const { cache, writer } = await open();
    const seen: boolean[] = [];
    cache.follow("/registry/pods/", cache.revision, {
      deliver: (event) => {
        seen.push(cache.revision >= event.revision);
        return "sent";
      },
      fellBehind: () => {},
    });
    await create(writer, "/registry/pods/a/x", object("x"));
    expect(seen).toEqual([true]);
  });

  test("delivers a deleted object in its last state with the revision of the deletion", async () => {
    const { cache, writer } = await open((kv) => create(kv, "/registry/pods/a/x", object("x")));
    const items: string[] = [];
    cache.follow("/registry/pods/", cache.revision, {
      deliver: (event) => {
        items.push(event.entry.item.toString());
        return "sent";
      },
      fellBehind: () => {},
    });
    const removed = await remove(writer, "/registry/pods/a/x", 2);
    expect(items).toEqual([`,{"metadata":{"resourceVersion":"${removed}","name":"x"}}`]);
  });

  test("records the revision since which the objects under a prefix are unchanged", async () => {
    const { cache, writer } = await open();
    const base = cache.revision;
    const changed = await create(writer, "/registry/pods/a/x", object("x"));
    await create(writer, "/registry/services/a/x", object("x"));
    expect(cache.isUnchangedSince("/registry/pods/", changed)).toBe(true);
    expect(cache.isUnchangedSince("/registry/pods/", changed - 1)).toBe(false);
    expect(cache.isUnchangedSince("/registry/pods/", cache.revision)).toBe(true);
    expect(cache.isUnchangedSince("/registry/pods/", cache.revision + 1)).toBe(false);
    expect(cache.isUnchangedSince("/registry/none/", base)).toBe(true);
    expect(cache.isUnchangedSince("/registry/none/", base - 1)).toBe(false);
  });

  test("changes its state during an outage, and loses no change", async () => {
    const { cache, states, held, writer } = await open();
    held.interrupt(true);
    expect(cache.state).toBe("interrupted");
    await create(writer, "/registry/pods/a/x", object("x"));
    held.interrupt(false);
    expect(states).toEqual(["following", "interrupted", "following"]);
    expect(cache.get("/registry/pods/a/x")).toBeDefined();
  });

  test("keeps a bounded history, and rejects a watch that starts before it", async () => {
    const { cache, writer } = await open();
    const base = cache.revision;
    expect(cache.oldestRevision("/registry/pods/")).toBe(base);
    let expectedRevision = 0;
    for (let count = 0; count < HISTORY_EVENTS_MAX + 10; count++)
      expectedRevision = await put(writer, { key: "/registry/pods/a/x", value: object("x"), expectedRevision });
    expect(cache.oldestRevision("/registry/pods/")).toBe(base + 10);
    expect(cache.follow("/registry/pods/", base + 9, new Recorder())).toBeUndefined();
    expect(cache.follow("/registry/services/", base, new Recorder())).toBeDefined();
  });

  test("goes back to loading when the store is closed, and can still be stopped", async () => {
    const fixture = await open();
    await fixture.held.kv.close();
    await settled();
    expect(fixture.cache.state).toBe("loading");
    fixture.stop();
    await fixture.stopped;
  });
});

describe("an entry of a value that this server writes", () => {
  const text = '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"own":"yes"}}}';
  const labels = { own: "yes" };
  const stored = (value: string) => ({
    key: "/registry/pods/a",
    value: Buffer.from(value),
    modRevision: 2,
    createRevision: 2,
  });

  async function writing(): Promise<{ readonly cache: WatchCache; readonly done: () => void }> {
    const { cache } = await open();
    const value = Buffer.from(text);
    cache.rememberObject(value, { kind: "Pod", apiVersion: "v1", metadata: { name: "a", labels } });
    return { cache, done: cache.announceWrite("/registry/pods/a", value) };
  }

  test("takes the labels of the written object, although the store delivers the bytes in another buffer", async () => {
    const { cache } = await writing();
    expect(cache.toEntry(stored(text)).labels).toBe(labels);
  });

  test("takes the labels of the delivered bytes if another client has written these", async () => {
    const { cache } = await writing();
    expect(cache.toEntry(stored(text.replace("yes", "no"))).labels).toEqual({ own: "no" });
  });

  test("is parsed like any other after the write", async () => {
    const { cache, done } = await writing();
    done();
    const { labels: parsed } = cache.toEntry(stored(text));
    expect(parsed).toEqual(labels);
    expect(parsed).not.toBe(labels);
  });
});

describe("if the store has compacted changes that the cache's watch missed,", () => {
  async function openCompacted(follower: HistoryWatcher): Promise<Fixture> {
    const clock = createManualClock();
    const store = createMemoryStore({ clock });
    const writer = store.open();
    await create(writer, "/registry/pods/a/gone", "junk");
    const states: CacheState[] = [];
    const held = holdKv(store.open());
    let sinkClosed: (error: StorageError) => void = () => {};
    let isFirst = true;
    const kv: Kv = {
      ...held.kv,
      watch: (request, sink) => {
        if (!isFirst) return held.kv.watch(request, sink);
        isFirst = false;
        sinkClosed = (error) => sink.closed(error);
        return { close: () => {} };
      },
    };
    const cache = new WatchCache({ kv, clock, root: "/registry/", onStateChange: (state) => states.push(state) });
    const stopping = new AbortController();
    const stopped = cache.run(stopping.signal);
    await settled();
    cache.follow("/registry/pods/", cache.revision, follower);
    await remove(writer, "/registry/pods/a/gone", 2);
    await create(writer, "/registry/pods/a/new", object("new"));
    sinkClosed(new StorageError("revision-compacted", "gone", { revision: 4 }));
    await settled();
    return { clock, writer, held, cache, states, stopped, stop: () => stopping.abort() };
  }

  test("the cache loads all data again and ends every watcher", async () => {
    const follower = new Recorder();
    const { cache, states } = await openCompacted(follower);
    expect(states).toEqual(["following", "loading", "following"]);
    expect(follower).toMatchObject({ events: [], fellBehindCount: 1 });
    expect([cache.get("/registry/pods/a/gone"), cache.corrupt.size]).toEqual([undefined, 0]);
    expect(cache.get("/registry/pods/a/new")).toBeDefined();
    expect(cache.revision).toBe(4);
    expect(cache.oldestRevision("/registry/pods/")).toBe(4);
    expect(cache.isUnchangedSince("/registry/pods/", 3)).toBe(false);
    expect(cache.isUnchangedSince("/registry/pods/", 4)).toBe(true);
  });

  test("a watcher that starts a new watch while its old one is being ended receives later events", async () => {
    const again = new Recorder();
    const clock = createManualClock();
    const writer = createMemoryStore({ clock }).open();
    await create(writer, "/registry/pods/a/x", object("x"));
    const closers: ((error: StorageError) => void)[] = [];
    const kv = { ...holdKv(writer).kv };
    const watch = kv.watch.bind(kv);
    kv.watch = (request, sink) => {
      closers.push((error) => sink.closed(error));
      return watch(request, sink);
    };
    const cache = new WatchCache({ kv, clock, root: "/registry/" });
    const stopping = new AbortController();
    void cache.run(stopping.signal);
    await settled();
    cache.follow("/registry/pods/", cache.revision, {
      deliver: () => "sent" as const,
      fellBehind: () => void cache.follow("/registry/pods/", 2, again),
    });
    closers[0]!(new StorageError("revision-compacted", "gone", { revision: 2 }));
    await settled();
    await create(writer, "/registry/pods/a/y", object("y"));
    expect(again.events).toContain("put /registry/pods/a/y@3");
    stopping.abort();
  });
});

describe("waiting for a revision", () => {
  test("ends as soon as the cache reaches the revision", async () => {
    const { cache, writer } = await open();
    const waiting = cache.waitFor(cache.revision + 2, 1_000);
    await create(writer, "/registry/pods/a/x", object("x"));
    await create(writer, "/elsewhere/x", "x");
    expect(await waiting).toBe(true);
    expect(await cache.waitFor(cache.revision, 0)).toBe(true);
  });

  test("ends after the timeout", async () => {
    const { cache, clock } = await open();
    const waiting = cache.waitFor(cache.revision + 1, 1_000);
    clock.advance(999);
    const outcome = Promise.race([waiting, settled().then(() => "pending")]);
    expect(await outcome).toBe("pending");
    clock.advance(1);
    expect(await waiting).toBe(false);
  });

  test("during loading lasts until the data is loaded", async () => {
    const { cache, clock } = await openWith(
      async () => {},
      (held) => held.fail(1),
    );
    const waiting = cache.waitFor(0, 10_000);
    clock.advance(250);
    expect(await waiting).toBe(true);
  });

  test("with catchUp lasts until the cache contains every write that was acknowledged before the call, or until the timeout", async () => {
    const { cache, writer, held, clock } = await open();
    expect(await cache.catchUp()).toBe(true);
    held.hold();
    await create(writer, "/registry/pods/a/x", object("x"));
    const late = cache.catchUp();
    await settled();
    held.release();
    expect(await late).toBe(true);
    held.hold();
    await create(writer, "/registry/pods/a/y", object("y"));
    const never = cache.catchUp();
    await settled();
    clock.advance(CATCH_UP_MS);
    expect(await never).toBe(false);
  });

  test("with catchUp fails while the store is unreachable", async () => {
    const { cache, held } = await open();
    held.fail(1);
    await expect(cache.catchUp()).rejects.toMatchObject({ code: "unavailable" });
  });
});

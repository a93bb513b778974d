import { describe, expect, test } from "vitest";
import { create, put, remove } from "../../../test/testing/storage/conformance/kv-fixture.ts";
import { createManualClock, type ManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import { StoreEpochs } from "../../base/store-epoch.ts";
import { holdKv } from "../../../test/testing/storage/held-kv.ts";
import { createMemoryStore, type MemoryStore } from "../kv-memory/kv.ts";
import { StorageError, type Kv } from "../kv.ts";
import { overlaidKv } from "../overlaid-kv.ts";
import { WatchCache } from "./cache.ts";
import { HISTORY_CHANGE_MARGIN_MS, HISTORY_OVERLAP_MS } from "./cache-limits.ts";

const PODS = "/registry/pods/";

interface Fixture {
  readonly clock: ManualClock;
  readonly store: MemoryStore;
  readonly kv: Kv;
  readonly cache: WatchCache;
  readonly evidence: string[];
}

function object(name: string): string {
  return `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${name}"}}`;
}

function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

async function open(): Promise<Fixture> {
  const clock = createManualClock();
  const store = createMemoryStore({ clock });
  const epochs = new StoreEpochs();
  const evidence: string[] = [];
  epochs.onChange((text) => evidence.push(text));
  const cache = new WatchCache({ kv: store.open(), clock, root: "/registry/", epochs });
  void cache.run(new AbortController().signal);
  await settled();
  return { clock, store, kv: store.open(), cache, evidence };
}

describe("a watch cache whose store is restored from a backup", () => {
  test("reloads, goes back to the revision of the store, and serves the restored objects", async () => {
    const { store, kv, cache, evidence } = await open();
    const kept = await create(kv, `${PODS}a/kept`, object("kept"));
    const backup = store.backUp();
    await create(kv, `${PODS}a/lost`, object("lost"));
    await remove(kv, `${PODS}a/kept`, kept);
    store.restore(backup);
    expect(cache.state).toBe("loading");
    await settled();
    expect(cache).toMatchObject({ state: "following", revision: backup.revision });
    expect(cache.get(`${PODS}a/kept`)?.modRevision).toBe(kept);
    expect(cache.get(`${PODS}a/lost`)).toBeUndefined();
    expect(evidence).toEqual([`the store is at revision ${backup.revision}, and was at ${backup.revision + 2} before`]);
    const later = await put(kv, { key: `${PODS}a/kept`, value: object("kept"), expectedRevision: kept });
    expect(cache.get(`${PODS}a/kept`)?.modRevision).toBe(later);
  });

  test("notices a restore that happened while it was not running", async () => {
    const clock = createManualClock();
    const store = createMemoryStore({ clock });
    const kv = store.open();
    const epochs = new StoreEpochs();
    const cache = new WatchCache({ kv: store.open(), clock, root: "/registry/", epochs });
    const backup = store.backUp();
    const stop = new AbortController();
    const running = cache.run(stop.signal);
    await settled();
    await create(kv, `${PODS}a/lost`, object("lost"));
    stop.abort();
    await running;
    store.restore(backup);
    void cache.run(new AbortController().signal);
    await settled();
    expect([epochs.current, cache.revision, cache.get(`${PODS}a/lost`)]).toEqual([1, backup.revision, undefined]);
    const created = await create(kv, `${PODS}a/new`, object("new"));
    expect(cache.get(`${PODS}a/new`)?.modRevision).toBe(created);
  });

  test("advances the epoch before it serves anything of the new history, also if the new history had overtaken its revision while it had no watch", async () => {
    const clock = createManualClock();
    const store = createMemoryStore({ clock });
    const writer = store.open();
    const epochs = new StoreEpochs();
    let closeWatch = (): void => {};
    const held = holdKv(store.open());
    const kv = overlaidKv(held.kv, {
      watch(request, sink) {
        const watching = held.kv.watch(request, sink);
        closeWatch = () => {
          watching.close();
          sink.closed(new StorageError("revision-compacted", "compacted"));
        };
        return watching;
      },
    });
    const cache = new WatchCache({ kv, clock, root: "/registry/", epochs });
    void cache.run(new AbortController().signal);
    await settled();
    const backup = store.backUp();
    const lost = await create(writer, `${PODS}a/lost`, object("lost"));
    let ended = 0;
    cache.follow(PODS, lost, { deliver: () => "sent" as const, fellBehind: () => void ended++ });
    const seen: unknown[] = [];
    epochs.onChange(() => seen.push([cache.state, ended, cache.get(`${PODS}a/new-0`)]));
    held.fail(1);
    closeWatch();
    await settled();
    store.restore(backup);
    for (let index = 0; index < 5; index++) await create(writer, `${PODS}a/new-${index}`, object("new"));
    clock.advance(1_000);
    await settled();
    expect(cache).toMatchObject({ state: "following", revision: lost + 4 });
    expect([epochs.current, seen, ended]).toEqual([1, [["loading", 0, undefined]], 1]);
    expect([cache.get(`${PODS}a/lost`), cache.isFromEarlierHistory(clock.now())]).toEqual([undefined, true]);
  });

  test("loads again if the history changes between the load and the start of its watch", async () => {
    const clock = createManualClock();
    const store = createMemoryStore({ clock });
    const writer = store.open();
    const backup = store.backUp();
    await create(writer, `${PODS}a/lost`, object("lost"));
    const epochs = new StoreEpochs();
    let loads = 0;
    const cache = new WatchCache({
      kv: store.open(),
      clock,
      root: "/registry/",
      epochs,
      // The cache reports that it has loaded before it starts its watch.
      onStateChange: (state) => {
        if (state === "following" && ++loads === 1) store.restore(backup);
      },
    });
    let hasServedLost = false;
    epochs.onChange(() => (hasServedLost = cache.get(`${PODS}a/lost`) !== undefined));
    void cache.run(new AbortController().signal);
    await settled();
    expect([loads, epochs.current, hasServedLost]).toEqual([2, 1, true]);
    expect(cache).toMatchObject({ state: "following", revision: backup.revision });
    expect(cache.get(`${PODS}a/lost`)).toBeUndefined();
  });

  test("ignores a watch of the lost history that the store has not ended yet", async () => {
    const clock = createManualClock();
    const store = createMemoryStore({ clock });
    const writer = store.open();
    const held = holdKv(store.open());
    let watches = 0;
    // The store reports the change of its history, and leaves the first watch open.
    const kv = overlaidKv(held.kv, {
      watch: (request, sink) => {
        const closed: typeof sink.closed = ++watches > 1 ? (error) => sink.closed(error) : () => {};
        return held.kv.watch(request, { ...sink, closed });
      },
    });
    const cache = new WatchCache({ kv, clock, root: "/registry/" });
    void cache.run(new AbortController().signal);
    await settled();
    const backup = store.backUp();
    await create(writer, `${PODS}a/lost`, object("lost"));
    held.fail(1);
    store.restore(backup);
    held.interrupt(false);
    expect(cache.state).toBe("loading");
    await settled();
    clock.advance(1_000);
    await settled();
    expect([cache.state, cache.revision]).toEqual(["following", backup.revision]);
    expect(cache.get(`${PODS}a/lost`)).toBeUndefined();
  });

  test("ends all watches at once, and starts none until it is loaded", async () => {
    const { store, kv, cache } = await open();
    const backup = store.backUp();
    await create(kv, `${PODS}a/lost`, object("lost"));
    const { revision } = cache;
    let ended = 0;
    const watcher = { deliver: () => "sent" as const, fellBehind: () => void ended++ };
    expect(cache.follow(PODS, revision, watcher)).toBeDefined();
    store.restore(backup);
    expect(ended).toBe(1);
    for (const after of [1, revision, revision + 100]) expect(cache.follow(PODS, after, watcher)).toBeUndefined();
    expect(cache.oldestRevision("/registry/services/")).toBe(Infinity);
    await settled();
    expect(cache.follow(PODS, backup.revision, watcher)).toBeDefined();
  });

  test("treats revisions that clients received before, or soon after by another clock, as those of an earlier history", async () => {
    const { clock, store, cache } = await open();
    expect(cache.isFromEarlierHistory(undefined)).toBe(false);
    store.restore(store.backUp());
    await settled();
    const changedAt = clock.now();
    expect(cache.isFromEarlierHistory(undefined)).toBe(true);
    expect(cache.isFromEarlierHistory(changedAt - 1)).toBe(true);
    expect(cache.isFromEarlierHistory(changedAt + HISTORY_CHANGE_MARGIN_MS)).toBe(true);
    expect(cache.isFromEarlierHistory(changedAt + HISTORY_CHANGE_MARGIN_MS + 1)).toBe(false);
    clock.advance(HISTORY_OVERLAP_MS + 1);
    expect(cache.isFromEarlierHistory(undefined)).toBe(false);
  });
});

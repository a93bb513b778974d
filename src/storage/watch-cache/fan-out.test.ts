/** Counts the deliveries for which the response to a write waits, and checks their order. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import { createMemoryKv } from "../kv-memory/kv.ts";
import { createObjectStore, type ObjectStore } from "../object-store.ts";
import { WatchCache } from "./cache.ts";
import { DELIVERIES_AT_ONCE, HISTORY_BYTES_MAX, VISITS_AT_ONCE } from "./cache-limits.ts";
import { createEntry } from "./entry.ts";
import { History, type CacheEvent, type Delivery, type HistoryWatch, type HistoryWatcher } from "./history.ts";
import { Memo } from "./memo.ts";

const WATCHERS = 10_000;
const PODS = "/registry/pods/";

class Recorder implements HistoryWatcher {
  readonly revisions: number[] = [];
  delivery: Delivery = "sent";
  hasFallenBehind = false;

  deliver({ revision }: CacheEvent): Delivery {
    this.revisions.push(revision);
    return this.delivery;
  }

  fellBehind(): void {
    this.hasFallenBehind = true;
  }
}

interface FanOut {
  readonly store: ObjectStore;
  /** Runs one turn of the event loop. Returns false if nothing was left to do. */
  readonly turn: () => boolean;
  readonly follow: (prefix?: string) => { readonly watcher: Recorder; readonly watch: HistoryWatch };
  readonly create: (name: string) => Promise<number>;
}

async function open(): Promise<FanOut> {
  const clock = createManualClock();
  const kv = createMemoryKv({ clock });
  let turns: (() => void)[] = [];
  const cache = new WatchCache({ kv, clock, root: "/registry/", nextTurn: (callback) => void turns.push(callback) });
  void cache.run(new AbortController().signal);
  await cache.waitFor(1, 1_000);
  const store = createObjectStore(kv, cache);
  return {
    store,
    turn: () => {
      const due = turns;
      turns = [];
      for (const callback of due) callback();
      return due.length > 0;
    },
    follow: (prefix = PODS) => {
      const watcher = new Recorder();
      return { watcher, watch: cache.follow(prefix, cache.revision, watcher)! };
    },
    create: async (name) => {
      const value = Buffer.from(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${name}"}}`);
      const result = await store.create(`${PODS}a/${name}`, value);
      return result.committed ? result.entry.modRevision : 0;
    },
  };
}

function many({ follow }: FanOut): { readonly watcher: Recorder; readonly watch: HistoryWatch }[] {
  return Array.from({ length: WATCHERS }, () => follow());
}

const received = (watchers: readonly { watcher: Recorder }[]): number =>
  watchers.reduce((sum, { watcher }) => sum + watcher.revisions.length, 0);

describe("with 10,000 watchers", () => {
  test("a write waits for the delivery to at most DELIVERIES_AT_ONCE of them, and a turn delivers to as many", async () => {
    const fanOut = await open();
    const watchers = many(fanOut);
    await fanOut.create("x");
    expect(received(watchers)).toBe(DELIVERIES_AT_ONCE);
    for (let turn = 2; turn <= WATCHERS / DELIVERIES_AT_ONCE; turn++) {
      expect(fanOut.turn()).toBe(true);
      expect(received(watchers)).toBe(turn * DELIVERIES_AT_ONCE);
    }
    while (fanOut.turn());
    expect(received(watchers)).toBe(WATCHERS);
  });

  test("every watcher receives all revisions in order, while writes come between the turns", async () => {
    const fanOut = await open();
    const watchers = many(fanOut);
    const written: number[] = [];
    const isInOrder = ({ revisions }: Recorder): boolean => revisions.every((one, index) => one === written[index]);
    for (let write = 0; write < 8; write++) {
      written.push(await fanOut.create(`x-${write}`));
      fanOut.turn();
      expect(watchers.every(({ watcher }) => isInOrder(watcher))).toBe(true);
    }
    expect(received(watchers)).toBeLessThan(WATCHERS * written.length);
    while (fanOut.turn());
    expect(watchers.every(({ watcher }) => isInOrder(watcher))).toBe(true);
    expect(received(watchers)).toBe(WATCHERS * written.length);
  });

  test("a watcher to which an event is still to be delivered is not current, so it gets no bookmark", async () => {
    const fanOut = await open();
    const watchers = many(fanOut);
    await fanOut.create("x");
    expect(watchers[0]!.watch.isCurrent()).toBe(true);
    expect(watchers.at(-1)!.watch.isCurrent()).toBe(false);
    while (fanOut.turn());
    expect(watchers.at(-1)!.watch.isCurrent()).toBe(true);
  });

  test("watchers that are full or skip the event do not keep it from others", async () => {
    const fanOut = await open();
    const watchers = many(fanOut);
    for (const { watcher } of watchers) watcher.delivery = "skipped";
    const last = fanOut.follow();
    await fanOut.create("x");
    expect(received(watchers)).toBe(VISITS_AT_ONCE);
    for (const { watcher } of watchers) watcher.delivery = "full";
    while (fanOut.turn());
    expect(last.watcher.revisions).toHaveLength(1);
    await fanOut.create("y");
    while (fanOut.turn());
    expect(last.watcher.revisions).toHaveLength(2);
  });

  test("watchers of the whole resource come before watchers of a namespace or an object", async () => {
    const fanOut = await open();
    const narrow = Array.from({ length: WATCHERS }, () => fanOut.follow(`${PODS}a/`));
    const { watcher } = fanOut.follow();
    await fanOut.create("x");
    expect(watcher.revisions).toHaveLength(1);
    expect(received(narrow)).toBe(DELIVERIES_AT_ONCE - 1);
    while (fanOut.turn());
    expect(received(narrow)).toBe(WATCHERS);
  });
});

test("a watcher that stops before its turn receives nothing, and the others receive the event", async () => {
  const fanOut = await open();
  const watchers = many(fanOut);
  await fanOut.create("x");
  for (const { watch } of watchers.slice(600, 700)) watch.stop();
  while (fanOut.turn());
  expect(received(watchers)).toBe(WATCHERS - 100);
});

test("a watcher whose event is dropped before its turn is ended, and one that has received it is not", () => {
  const turns: (() => void)[] = [];
  const history = new History({
    clock: createManualClock(),
    baseRevision: 0,
    nextTurn: (callback) => void turns.push(callback),
  });
  const watchers = Array.from({ length: DELIVERIES_AT_ONCE + 1 }, () => new Recorder());
  const other = new Recorder();
  history.follow("/registry/pods/b/", 0, other);
  for (const watcher of watchers) history.follow(PODS, 0, watcher);
  const value = Buffer.from('{"kind":"Pod","apiVersion":"v1","metadata":{}}');
  for (const revision of [1, 2]) {
    const entry = createEntry({ key: `${PODS}a/x`, value, modRevision: revision, createRevision: 1 });
    const item = { length: HISTORY_BYTES_MAX } as Buffer;
    history.append({ kind: "put", revision, entry: { ...entry, item }, previous: undefined, memo: new Memo() });
  }
  for (const turn of turns) turn();
  expect(watchers.map(({ hasFallenBehind }) => hasFallenBehind).indexOf(true)).toBe(DELIVERIES_AT_ONCE);
  expect(watchers[0]!.revisions).toEqual([1, 2]);
  expect(watchers.at(-1)!.revisions).toEqual([]);
  expect(other.hasFallenBehind).toBe(false);
});

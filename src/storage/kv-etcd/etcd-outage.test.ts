import { describe, expect, test } from "vitest";
import type { Kv } from "../kv.ts";
import { openEtcdKv } from "./kv.ts";
import { startSlowLink } from "../../../test/cluster/storage-versions-slow-link.ts";
import { realClock } from "../../../test/testing/real-clock.ts";
import { RecordingSink } from "../../../test/testing/storage/kv-etcd/recording-sink.ts";
import {
  type EtcdProcess,
  ETCD_MISSING,
  hasEtcd,
  startEtcd,
} from "../../../test/testing/storage/kv-etcd/start-etcd.ts";

interface Store extends AsyncDisposable {
  readonly etcd: EtcdProcess;
  readonly kv: Kv;
  readonly sink: RecordingSink;
}

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

/** Opens a separate store for each test, with a watch that starts at its first revision. */
async function openStore(requestTimeoutMs = 1_500): Promise<Store> {
  const etcd = (await startEtcd())!;
  const kv = await openEtcdKv({ endpoints: [etcd.endpoint], clock: realClock(), requestTimeoutMs });
  const sink = new RecordingSink();
  kv.watch({ prefix: "/k/", fromRevision: 1 }, sink);
  const dispose = async (): Promise<void> => {
    await kv.close();
    await etcd.stop();
  };
  return { etcd, kv, sink, [Symbol.asyncDispose]: dispose };
}

function create(kv: Kv, name: string | number): Promise<unknown> {
  return kv.commit({ kind: "put", key: `/k/${name}`, value: Buffer.from("x"), expectedRevision: 0 });
}

/** Expects the watch's events to be exactly the history of the store, in order. */
async function expectWholeHistory({ etcd, sink }: Store): Promise<void> {
  const other = await openEtcdKv({ endpoints: [etcd.endpoint], clock: realClock() });
  try {
    const { items } = await other.range({ start: "/k/", end: "/k0" });
    const expected = items.map((item) => item.modRevision).toSorted((left, right) => left - right);
    await sink.until(({ seen }) => (seen.at(-1)?.modRevision ?? 0) >= expected.at(-1)!);
    expect(sink.seen.map((event) => event.modRevision)).toEqual(expected);
  } finally {
    await other.close();
  }
}

/** A link with this delay is as good as stopped. */
const STOPPED_MS = 30_000;
const UNAVAILABLE = { name: "StorageError", code: "unavailable" };

describe.skipIf(isMissing)("an etcd store whose etcd is stopped and continued", { timeout: 60_000 }, () => {
  test("fails requests in time, interrupts the watch, and loses no event", async () => {
    await using store = await openStore();
    const { etcd, kv, sink } = store;
    await create(kv, "before");
    await sink.until(({ seen }) => seen.length === 1);
    etcd.pause();
    // These commits are sent to the stopped process, so they may take effect when it continues.
    const unknown = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => create(kv, `paused-${index}`)));
    expect(unknown.every((result) => result.status === "rejected" && result.reason.code === "undecided")).toBe(true);
    await expect(kv.currentRevision()).rejects.toMatchObject(UNAVAILABLE);
    await expect(kv.range({ start: "/k/", end: "/k0" })).rejects.toMatchObject(UNAVAILABLE);
    await sink.until(({ signals }) => signals.includes("interrupted"));
    await expect(kv.leaseGrant(10)).rejects.toMatchObject(UNAVAILABLE);
    etcd.resume();
    await sink.until(({ signals }) => signals.includes("following"));
    for (let index = 0; index < 20; index++) await create(kv, `after-${index}`);
    await expectWholeHistory(store);
    expect(sink.signals).toEqual(["interrupted", "following"]);
  });
});

describe.skipIf(isMissing)("an etcd store whose etcd is killed and restarted", { timeout: 60_000 }, () => {
  test("reconnects, and its watch resumes without gap or duplicate", async () => {
    await using store = await openStore();
    const { etcd, kv, sink } = store;
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 10; index++) await create(kv, `${round}-${index}`);
      await etcd.kill();
      await sink.until(({ signals }) => signals.length === 2 * round + 1);
      await expect(create(kv, `${round}-down`)).rejects.toMatchObject(UNAVAILABLE);
      await etcd.restart();
      await sink.until(({ signals }) => signals.length === 2 * round + 2);
    }
    await create(kv, "last");
    await expectWholeHistory(store);
    expect(sink.signals).toEqual(["interrupted", "following", "interrupted", "following"]);
  });

  test("applies a commit in flight exactly once or not at all", async () => {
    await using store = await openStore(5_000);
    const { etcd, kv, sink } = store;
    const outcomes = new Map<string, string>();
    const write = async (writer: number): Promise<void> => {
      for (let index = 0; index < 200; index++) {
        const key = `/k/${writer}-${index}`;
        const result = await kv.commit({ kind: "put", key, value: Buffer.from("x"), expectedRevision: 0 }).then(
          (response) => (response.committed ? "committed" : "lost"),
          (error: unknown) => (error as { code: string }).code,
        );
        outcomes.set(key, result);
      }
    };
    const writers = Promise.all(Array.from({ length: 16 }, (_, writer) => write(writer)));
    await sink.until(({ seen }) => seen.length > 200);
    await etcd.kill();
    await etcd.restart();
    await writers;
    await expectWholeHistory(store);
    const versions = Map.groupBy(sink.seen, (event) => event.key);
    for (const [key, outcome] of outcomes) {
      const times = versions.get(key)?.length ?? 0;
      // A commit that was sent twice would have conflicted with itself, which is not among these outcomes.
      expect(outcome, key).toBeOneOf(["committed", "unavailable", "undecided"]);
      if (outcome === "unavailable") expect(times, key).toBe(0);
      if (outcome === "committed") expect(times, key).toBe(1);
      else expect(times, key).toBeLessThanOrEqual(1);
    }
    expect([...outcomes.values()]).toContain("undecided");
  });

  test("can be opened while etcd is down", async () => {
    await using store = await openStore();
    const { etcd } = store;
    await create(store.kv, "a");
    await etcd.kill();
    const kv = await openEtcdKv({ endpoints: [etcd.endpoint], clock: realClock(), requestTimeoutMs: 300 });
    try {
      const sink = new RecordingSink();
      kv.watch({ prefix: "/k/", fromRevision: 1 }, sink);
      await expect(kv.currentRevision()).rejects.toMatchObject(UNAVAILABLE);
      await sink.until(({ signals }) => signals.includes("interrupted"));
      await etcd.restart();
      await sink.until(({ seen }) => seen.length === 1);
      expect(sink.signals).toEqual(["interrupted", "following"]);
    } finally {
      await kv.close();
    }
  });
});

describe.skipIf(isMissing)("an etcd store with two endpoints", { timeout: 60_000 }, () => {
  test("stops using an endpoint that stops, and its watch resumes on the other endpoint", async () => {
    await using store = await openStore();
    await using link = await startSlowLink(store.etcd.endpoint);
    const endpoints = [link.endpoint, store.etcd.endpoint];
    const kv = await openEtcdKv({ endpoints, clock: realClock(), requestTimeoutMs: 5_000 });
    try {
      const sink = new RecordingSink();
      kv.watch({ prefix: "/k/", fromRevision: 1 }, sink);
      await create(kv, "a");
      await sink.until(({ seen }) => seen.length === 1);
      link.lagMs = STOPPED_MS;
      await create(store.kv, "b");
      await sink.until(({ signals }) => signals.includes("following"));
      await sink.until(({ seen }) => seen.length === 2);
      expect(sink.seen.map(({ key }) => key)).toEqual(["/k/a", "/k/b"]);
      expect((await kv.range({ start: "/k/", end: "/k0" })).count).toBe(2);
    } finally {
      await kv.close();
    }
  });

  test("of two different clusters ends its watches when it changes from one cluster to the other", async () => {
    await using store = await openStore();
    const other = (await startEtcd())!;
    const kv = await openEtcdKv({
      endpoints: [other.endpoint, store.etcd.endpoint],
      clock: realClock(),
      requestTimeoutMs: 5_000,
    });
    try {
      const sink = new RecordingSink();
      kv.watch({ prefix: "/k/", fromRevision: 1 }, sink);
      await create(kv, "other");
      await create(store.kv, "a");
      await create(store.kv, "b");
      await sink.until(({ seen }) => seen.length === 1);
      other.pause();
      await sink.until(({ signals }) => signals.at(-1) === "closed history-changed");
      expect(sink.seen.map(({ key }) => key)).toEqual(["/k/other"]);
      expect((await kv.range({ start: "/k/", end: "/k0" })).count).toBe(2);
    } finally {
      await kv.close();
      await other.stop();
    }
  });
});

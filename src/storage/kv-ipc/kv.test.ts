import { MessageChannel, type MessagePort } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import {
  Recorder,
  bytes,
  create,
  describeEvent,
  expectStorageError,
  put,
} from "../../../test/testing/storage/conformance/kv-fixture.ts";
import { kvSuite } from "../../../test/testing/storage/conformance/kv-suite.ts";
import { createManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import { createMemoryKv } from "../kv-memory/kv.ts";
import type { Change, Kv } from "../kv.ts";
import { openChannelKv } from "./kv.ts";
import { PAGE_KEYS, UNTAKEN_BATCHES_MAX } from "./ipc-limits.ts";
import type { KvChannel } from "./protocol.ts";
import { serveKv } from "./serve-kv.ts";

function channelOf(port: MessagePort): KvChannel {
  return {
    send: (message) => port.postMessage(message),
    receive({ message, closed }) {
      port.on("message", message);
      port.on("close", closed);
    },
  };
}

class FarStore implements AsyncDisposable {
  readonly clock = createManualClock();
  readonly near = createMemoryKv({ clock: this.clock });
  readonly #ports: MessagePort[] = [];

  connect(): { readonly kv: Kv; cut(): void } {
    const { port1, port2 } = new MessageChannel();
    this.#ports.push(port1, port2);
    serveKv(this.near, channelOf(port1));
    return { kv: openChannelKv(channelOf(port2)), cut: () => port2.close() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const port of this.#ports) port.close();
    await this.near.close();
  }
}

kvSuite(
  "a store behind a channel",
  async () => {
    const store = new FarStore();
    return {
      kv: store.connect().kv,
      advance: (ms) => store.clock.advance(ms),
      reopen: async () => store.connect().kv,
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  },
  { isExclusive: true },
);

describe("a store behind a channel", () => {
  test("delivers a change to watches before it acknowledges the commit", async () => {
    await using store = new FarStore();
    const { kv } = store.connect();
    const recorder = Recorder.start(kv, { prefix: "/a/", fromRevision: 2 });
    const revision = await create(kv, "/a/x");
    expect(recorder.all.map((event) => describeEvent(event, "/a/"))).toEqual([`put x@${revision}`]);
  });

  test("returns values as Buffers, although the channel delivers them as Uint8Arrays", async () => {
    await using store = new FarStore();
    const { kv } = store.connect();
    const recorder = Recorder.start(kv, { prefix: "/a/", fromRevision: 2 });
    await create(kv, "/a/x");
    const { items } = await kv.range({ start: "/a/", end: "/a0" });
    const lost = await kv.commit({ kind: "put", key: "/a/x", value: bytes("y"), expectedRevision: 0 });
    const [event] = await recorder.first(1);
    const values = [items[0]!.value, "current" in lost && lost.current!.value, event!.kind === "put" && event!.value];
    expect(values.map((value) => Buffer.isBuffer(value))).toEqual([true, true, true]);
  });

  test("rejects a malformed guard and changes nothing", async () => {
    await using store = new FarStore();
    const { kv } = store.connect();
    const kept = await create(kv, "/a/y");
    const changes: Change[] = [
      { kind: "put", key: "/a/x", value: bytes("x"), expectedRevision: 0 },
      { kind: "delete", key: "/a/y", expectedRevision: kept },
    ];
    const holds = { key: "/a/g", revision: 0 };
    const invalid = [null, "/a/g", {}, { key: "/a/g" }, { key: 7, revision: 0 }, { key: "/a/g", revision: NaN }];
    for (const change of changes) {
      for (const guard of invalid)
        await expectStorageError(kv.commit({ ...change, guards: [holds, guard] as never }), "unavailable");
      for (const guards of [null, holds, "", { length: 0 }, Array.from({ length: 5 }, () => holds)])
        await expectStorageError(kv.commit({ ...change, guards: guards as never }), "unavailable");
    }
    expect((await kv.range({ start: "/a/", end: "/a0" })).items).toMatchObject([{ key: "/a/y" }]);
  });

  test("returns a range of many pages as one result at one revision", async () => {
    await using store = new FarStore();
    const { kv } = store.connect();
    const count = PAGE_KEYS * 2 + 1;
    const keys = Array.from({ length: count }, (_, index) => `/a/${String(index).padStart(6, "0")}`);
    for (const key of keys) await create(store.near, key, key);
    const readPage = store.near.range.bind(store.near);
    let pages = 0;
    store.near.range = async (request) => {
      const page = await readPage(request);
      if (++pages === 1) await create(store.near, "/a/late");
      return page;
    };
    const whole = await kv.range({ start: "/a/", end: "/a0" });
    expect(whole.items.map(({ key }) => key)).toEqual(keys);
    expect(whole.count).toBe(count);
    const some = await kv.range({ start: "/a/", end: "/a0", limit: PAGE_KEYS + 1 });
    expect([some.items.length, some.count]).toEqual([PAGE_KEYS + 1, count + 1]);
  });

  test("keeps the leases of a disconnected client until they expire, but ends the client's watches at once", async () => {
    await using store = new FarStore();
    const gone = store.connect();
    const watched = Recorder.start(gone.kv, { prefix: "/a/", fromRevision: 2 });
    const lease = await gone.kv.leaseGrant(5);
    const revision = await put(gone.kv, { key: "/a/x", value: "x", expectedRevision: 0, lease });
    gone.cut();
    expect(await watched.closing()).toMatchObject({ code: "unavailable" });
    await expectStorageError(gone.kv.currentRevision(), "unavailable");
    const { kv } = store.connect();
    const recorder = Recorder.start(kv, { prefix: "/a/", fromRevision: revision });
    await recorder.through(revision);
    store.clock.advance(5000);
    await recorder.through(revision + 1);
    expect(recorder.all.map((event) => describeEvent(event, "/a/"))).toEqual([
      `put x@${revision}`,
      `delete x@${revision + 1}`,
    ]);
  });

  test("ends a watch with revision-compacted if its client stops acknowledging events", async () => {
    const store = createMemoryKv({ clock: createManualClock() });
    const sent: { kind: string }[] = [];
    let take: (message: unknown) => void = () => undefined;
    serveKv(store, {
      send: (message) => void sent.push(message as { kind: string }),
      receive: ({ message }) => void (take = message),
    });
    take({ kind: "watch", id: 1, request: { prefix: "/a/", fromRevision: 2 } });
    let revision = 0;
    for (let index = 0; index <= UNTAKEN_BATCHES_MAX; index++)
      revision = await put(store, { key: "/a/x", value: "x", expectedRevision: revision });
    expect(sent.filter(({ kind }) => kind === "events")).toHaveLength(UNTAKEN_BATCHES_MAX);
    expect(sent.filter(({ kind }) => kind === "closed")).toMatchObject([{ error: { code: "revision-compacted" } }]);
  });
});

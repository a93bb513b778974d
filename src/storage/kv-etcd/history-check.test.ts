import { afterEach, describe, expect, test } from "vitest";
import { realClock } from "../../../test/testing/real-clock.ts";
import {
  respond,
  respondWithStatus,
  startFakeServer,
  type FakeServer,
} from "../../../test/testing/storage/kv-etcd/fake-server.ts";
import { RecordingSink } from "../../../test/testing/storage/kv-etcd/recording-sink.ts";
import type { Kv } from "../kv.ts";
import { encodeFrame, FRAME_HEADER_BYTES } from "../grpc/frames.ts";
import { openEtcdKv } from "./kv.ts";
import { METHOD } from "./messages.ts";
import { GrpcReader, type GrpcWriter } from "../grpc/wire.ts";

/** The content of the responses of the fake etcd. A test changes it while the client runs. */
interface FakeEtcd {
  clusterId: number;
  memberId: number;
  term: number;
  revision: number;
  /** The key "/a" by requested revision; 0 is the newest. */
  readonly values: Map<number, { readonly modRevision: number; readonly value: string }>;
  compactRevision: number;
  /** If it is set, responses to ranges are computed at once but sent later, by the test. */
  held: (() => void)[] | undefined;
}

function writeHeader(writer: GrpcWriter, etcd: FakeEtcd): void {
  writer.message(1, (header) => {
    header.int64(1, etcd.clusterId);
    header.int64(2, etcd.memberId);
    header.int64(3, etcd.revision);
    header.int64(4, etcd.term);
  });
}

function rangeResponse(etcd: FakeEtcd, revision: number): Buffer {
  const found = etcd.values.get(revision);
  return encodeFrame(0, (writer) => {
    writeHeader(writer, etcd);
    if (found === undefined) return;
    writer.message(2, (item) => {
      item.string(1, "/a");
      item.int64(2, 1);
      item.int64(3, found.modRevision);
      item.bytes(5, Buffer.from(found.value));
    });
    writer.int64(4, 1);
  });
}

function revisionOf(body: Buffer): number {
  const reader = new GrpcReader(body.subarray(FRAME_HEADER_BYTES));
  let revision = 0;
  while (reader.next()) {
    if (reader.field === 4) revision = reader.int64();
    else reader.skip();
  }
  return revision;
}

interface Opened {
  readonly etcd: FakeEtcd;
  readonly server: FakeServer;
  readonly kv: Kv;
  readonly sink: RecordingSink;
  /** Ends the connection, so that the client connects again. */
  disconnect(): void;
}

const opened: { kv: Kv; server: FakeServer }[] = [];
afterEach(async () => {
  for (const { kv, server } of opened.splice(0)) {
    await kv.close();
    await server[Symbol.asyncDispose]();
  }
});

/** Opens a store that has written "/a" at revision 50, and a watch on it. */
async function openAndWrite(): Promise<Opened> {
  const etcd: FakeEtcd = {
    clusterId: 7,
    memberId: 1,
    term: 3,
    revision: 50,
    values: new Map(),
    compactRevision: 0,
    held: undefined,
  };
  const written = { modRevision: 50, value: "x" };
  etcd.values.set(0, written).set(50, written);
  const server = await startFakeServer((stream, path, body) => {
    if (path === METHOD.watch) return undefined;
    if (path === METHOD.txn) {
      const frame = encodeFrame(0, (writer) => {
        writeHeader(writer, etcd);
        writer.bool(2, true);
      });
      return respond(stream, frame);
    }
    const revision = revisionOf(body);
    if (revision > 0 && revision < etcd.compactRevision) {
      const message = "etcdserver: mvcc: required revision has been compacted";
      return respondWithStatus(stream, { trailers: { "grpc-status": "11", "grpc-message": message } });
    }
    const frame = rangeResponse(etcd, revision);
    if (etcd.held === undefined) return respond(stream, frame);
    etcd.held.push(() => respond(stream, frame));
    return undefined;
  });
  const kv = await openEtcdKv({ endpoints: [server.endpoint], clock: realClock(), requestTimeoutMs: 3_000 });
  opened.push({ kv, server });
  const sink = new RecordingSink();
  kv.watch({ prefix: "/", fromRevision: 51 }, sink);
  const change = { kind: "put", key: "/a", value: Buffer.from("x"), expectedRevision: 0 } as const;
  expect(await kv.commit(change)).toEqual({ committed: true, revision: 50 });
  const disconnect = (): void => server.sessions.forEach((session) => session.destroy());
  return { etcd, server, kv, sink, disconnect };
}

function isClosed({ signals }: RecordingSink): boolean {
  return signals.some((signal) => signal.startsWith("closed"));
}

describe("a response of another history", () => {
  test.each<[what: string, change: Partial<FakeEtcd>]>([
    ["a lower revision", { revision: 49 }],
    ["a lower raft term", { revision: 60, term: 2 }],
    ["another cluster ID", { revision: 60, clusterId: 8 }],
  ])("with %s is rejected, and ends the watches with history-changed", async (_, change) => {
    const { etcd, kv, sink } = await openAndWrite();
    Object.assign(etcd, change);
    await expect(kv.currentRevision()).rejects.toMatchObject({ code: "unavailable" });
    expect(sink.signals).toEqual(["closed history-changed"]);
    expect(await kv.currentRevision()).toBe(etcd.revision);
  });

  test("to a commit makes the commit undecided", async () => {
    const { etcd, kv, sink } = await openAndWrite();
    etcd.revision = 20;
    const change = { kind: "put", key: "/b", value: Buffer.from("x"), expectedRevision: 0 } as const;
    await expect(kv.commit(change)).rejects.toMatchObject({ code: "undecided" });
    expect(sink.signals).toEqual(["closed history-changed"]);
  });

  test("is not one of another member, of a later term or of a later revision", async () => {
    const { etcd, kv, sink } = await openAndWrite();
    Object.assign(etcd, { memberId: 2, term: 9, revision: 70 });
    expect(await kv.currentRevision()).toBe(70);
    expect(sink.signals).toEqual([]);
  });

  test("is not one whose request was sent before a response with a later revision arrived", async () => {
    const { etcd, kv, sink } = await openAndWrite();
    const held = (etcd.held = [] as (() => void)[]);
    const first = kv.range({ start: "/a" });
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    etcd.held = undefined;
    etcd.revision = 60;
    expect((await kv.range({ start: "/a" })).revision).toBe(60);
    held[0]?.();
    expect((await first).revision).toBe(50);
    expect(sink.signals).toEqual([]);
  });
});

describe("after a reconnect", () => {
  test("an etcd that still contains the newest write continues the watches", async () => {
    const { etcd, kv, sink, disconnect } = await openAndWrite();
    Object.assign(etcd, { memberId: 2, revision: 80, term: 4 });
    etcd.values.set(0, { modRevision: 75, value: "y" });
    disconnect();
    expect(await kv.currentRevision()).toBe(80);
    expect(isClosed(sink)).toBe(false);
  });

  test.each<[what: string, prepare: (etcd: FakeEtcd) => void]>([
    ["has overtaken the revision but lacks the newest write", ({ values }) => values.clear()],
    [
      "has another value at the revision of the newest write",
      ({ values }) => values.set(0, { modRevision: 50, value: "z" }).set(50, { modRevision: 50, value: "z" }),
    ],
    ["has compacted the newest write", (etcd) => Object.assign(etcd, { compactRevision: 70 }).values.delete(0)],
  ])("an etcd that %s ends the watches before any request reaches it", async (_, prepare) => {
    const { etcd, kv, sink, disconnect } = await openAndWrite();
    etcd.revision = 80;
    prepare(etcd);
    disconnect();
    await sink.until(isClosed);
    expect(sink.signals.at(-1)).toBe("closed history-changed");
    expect(await kv.currentRevision()).toBe(80);
  });

  test("requests that wait for the connection fail if the history has changed", async () => {
    const { etcd, kv, sink, disconnect } = await openAndWrite();
    etcd.revision = 10;
    disconnect();
    await sink.until(({ signals }) => signals.includes("interrupted"));
    await expect(kv.currentRevision()).rejects.toThrow(/the history of etcd has changed/);
    expect(sink.signals.at(-1)).toBe("closed history-changed");
  });
});

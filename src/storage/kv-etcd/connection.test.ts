import { describe, expect, test } from "vitest";
import type { Clock } from "../../base/clock.ts";
import type { Change, Kv } from "../kv.ts";
import { openEtcdKv } from "./kv.ts";
import { MESSAGE_RECEIVE_BYTES_MAX } from "../grpc/grpc-limits.ts";
import { MESSAGE_SEND_BYTES_MAX } from "./etcd-limits.ts";
import { encodeEmpty, METHOD } from "./messages.ts";
import {
  type FakeReply,
  rangeFrame,
  respond,
  respondWithStatus,
  startFakeServer,
} from "../../../test/testing/storage/kv-etcd/fake-server.ts";
import { realClock } from "../../../test/testing/real-clock.ts";
import { RecordingSink } from "../../../test/testing/storage/kv-etcd/recording-sink.ts";

const CHANGE: Change = { kind: "put", key: "/a", value: Buffer.from("x"), expectedRevision: 0 };

/** No process listens on the discard port of this machine. */
const DEAD = "http://127.0.0.1:9";

async function open(endpoints: readonly string[], requestTimeoutMs = 3_000): Promise<Kv & AsyncDisposable> {
  const kv = await openEtcdKv({ endpoints, clock: realClock(), requestTimeoutMs });
  return { ...kv, [Symbol.asyncDispose]: () => kv.close() };
}

/** Fails the first calls in the given way, then responds. */
function failing(times: number, fail: FakeReply): FakeReply {
  let failed = 0;
  return (stream, path, body) => {
    if (failed++ < times) fail(stream, path, body);
    else respond(stream, rangeFrame(42));
  };
}

function replying(status: number, message: string): FakeReply {
  const trailers = { "grpc-status": String(status), "grpc-message": message };
  return (stream) => respondWithStatus(stream, { trailers });
}

describe("etcd endpoints", () => {
  test.each([[], ["127.0.0.1:2379"], ["ftp://a:1"], ["http://"], ["http://a:2379/v3"], ["http://user:secret@a:2379"]])(
    "are rejected with an error if they are malformed (%s)",
    async (...endpoints: string[]) => {
      const opening = openEtcdKv({ endpoints: endpoints.filter(Boolean), clock: realClock() });
      await expect(opening).rejects.toThrow(/endpoint/);
      await expect(opening).rejects.not.toThrow(/secret/);
    },
  );

  test("that are unreachable are skipped if another endpoint is reachable", async () => {
    await using server = await startFakeServer((stream) => respond(stream, rangeFrame(42)));
    await using kv = await open([DEAD, server.endpoint]);
    expect(await kv.currentRevision()).toBe(42);
  });

  test("whose member has no leader are abandoned for another endpoint", async () => {
    const trailers = { "grpc-status": "14", "grpc-message": "etcdserver: no leader" };
    await using lost = await startFakeServer((stream) => respondWithStatus(stream, { trailers }));
    await using server = await startFakeServer((stream) => respond(stream, rangeFrame(42)));
    await using kv = await open([lost.endpoint, server.endpoint]);
    await expect(kv.currentRevision()).rejects.toMatchObject({ code: "unavailable" });
    expect(await kv.currentRevision()).toBe(42);
    expect(await kv.currentRevision()).toBe(42);
  });

  test("are retried with growing delays if no member has a leader", async () => {
    const trailers = { "grpc-status": "14", "grpc-message": "etcdserver: no leader" };
    const { promise: enough, resolve: onEnough } = Promise.withResolvers<void>();
    const response: FakeReply = (stream) => {
      if (left.calls.length + right.calls.length === 6) onEnough();
      respondWithStatus(stream, { trailers });
    };
    await using left = await startFakeServer(response);
    await using right = await startFakeServer(response);
    const pauses: number[] = [];
    const clock = realClock();
    const after: Clock["after"] = (delayMs, callback) => {
      pauses.push(delayMs);
      return clock.after(delayMs, callback);
    };
    const kv = await openEtcdKv({ endpoints: [left.endpoint, right.endpoint], clock: { ...clock, after } });
    const sink = new RecordingSink();
    kv.watch({ prefix: "/", fromRevision: 1 }, sink);
    await enough;
    await kv.close();
    expect(pauses).toEqual(expect.arrayContaining([50, 100]));
    expect(sink.signals).toEqual(["interrupted", "closed unavailable"]);
  });

  test("that are all unreachable make requests fail as unavailable after a timeout", async () => {
    await using kv = await open([DEAD], 200);
    await expect(kv.currentRevision()).rejects.toMatchObject({ code: "unavailable" });
    await expect(kv.commit(CHANGE)).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("losing the connection during a request", () => {
  const cut: FakeReply = (stream) => stream.session?.destroy();

  test("fails a commit as undecided and does not resend it", async () => {
    await using server = await startFakeServer(failing(1, cut));
    await using kv = await open([server.endpoint]);
    await expect(kv.commit(CHANGE)).rejects.toMatchObject({ code: "undecided" });
    await kv.currentRevision();
    expect(server.calls).toEqual([METHOD.txn, METHOD.range]);
  });

  test("does not resend a commit to another endpoint", async () => {
    await using first = await startFakeServer(cut);
    await using second = await startFakeServer((stream) => respond(stream, rangeFrame(42)));
    await using kv = await open([first.endpoint, second.endpoint]);
    await expect(kv.commit(CHANGE)).rejects.toMatchObject({ code: "undecided" });
    await kv.currentRevision();
    expect(second.calls).toEqual([METHOD.range]);
  });

  test("does not fail a read, because the read is resent", async () => {
    await using server = await startFakeServer(failing(2, cut));
    await using kv = await open([server.endpoint]);
    expect(await kv.currentRevision()).toBe(42);
    expect(server.calls).toHaveLength(3);
  });

  test("fails a read after three attempts", async () => {
    await using server = await startFakeServer(cut);
    await using kv = await open([server.endpoint]);
    await expect(kv.currentRevision()).rejects.toMatchObject({ code: "unavailable" });
    expect(server.calls).toHaveLength(3);
  });
});

describe("an etcd server", () => {
  test("that sends GOAWAY receives no new requests on that connection, but completes the requests in flight", async () => {
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<() => void>();
    await using server = await startFakeServer((stream) => {
      if (server.calls.length > 1) respond(stream, rangeFrame(43));
      else {
        stream.session?.goaway();
        onAsked(() => respond(stream, rangeFrame(42)));
      }
    });
    await using kv = await open([server.endpoint]);
    const owed = kv.range({ start: "/a" });
    const pay = await asked;
    expect(await kv.currentRevision()).toBe(43);
    pay();
    expect(await owed).toMatchObject({ revision: 42 });
  });

  test("that never responds makes a request fail after the request timeout", async () => {
    await using server = await startFakeServer(() => {});
    await using kv = await open([server.endpoint], 200);
    await expect(kv.commit(CHANGE)).rejects.toMatchObject({ code: "undecided" });
    expect(server.calls).toEqual([METHOD.txn]);
  });

  test.each<[string, string, FakeReply]>([
    ["an HTTP error page", "unavailable", (stream) => stream.respond({ ":status": 503 }, { endStream: true })],
    ["no status", "unavailable", (stream) => respondWithStatus(stream, { trailers: { "x-other": "1" } })],
    ["no message", "unavailable", (stream) => respondWithStatus(stream, { trailers: { "grpc-status": "0" } })],
    ["half a message", "unavailable", (stream) => respond(stream, rangeFrame(42).subarray(0, -1))],
    ["bytes that are not protobuf", "corrupt", (stream) => respond(stream, Buffer.from([0, 0, 0, 0, 2, 0x0a, 0x7f]))],
    ["an unknown status", "unavailable", (stream) => respondWithStatus(stream, { trailers: { "grpc-status": "99" } })],
    ["status DATA_LOSS", "corrupt", (stream) => respondWithStatus(stream, { trailers: { "grpc-status": "15" } })],
    ["a message beyond the size limit", "too-large", (stream) => respond(stream, oversizeHeader())],
  ])("that responds with %s causes the error %s", async (_, code, response) => {
    await using server = await startFakeServer(response);
    await using kv = await open([server.endpoint]);
    await expect(kv.range({ start: "/a" })).rejects.toMatchObject({ name: "StorageError", code });
  });

  test.each<[string, FakeReply]>([
    ["an HTTP error page", (stream) => stream.respond({ ":status": 503 }, { endStream: true })],
    ["no message", (stream) => respondWithStatus(stream, { trailers: { "grpc-status": "0" } })],
    ["bytes that are not protobuf", (stream) => respond(stream, Buffer.from([0, 0, 0, 0, 2, 0x0a, 0x7f]))],
    ["a message without a revision", (stream) => respond(stream, encodeEmpty())],
    ["a message beyond the size limit", (stream) => respond(stream, oversizeHeader())],
    ["status DATA_LOSS", replying(15, "etcdserver: corrupt cluster")],
    ["an unknown status", replying(99, "etcdserver: key is not provided")],
    ["an unknown message", replying(3, "etcdserver: something that a later release says")],
    ["a message that only contains the text of a rejection", replying(14, "proxy: lost etcdserver: no leader")],
    ["a timeout", replying(14, "etcdserver: request timed out, possibly due to connection lost")],
    ["a change of its leader", replying(14, "etcdserver: leader changed")],
    ["a stop", replying(14, "etcdserver: server stopped")],
    ["a full database, which it may report after the change", replying(8, "etcdserver: mvcc: database space exceeded")],
  ])("that responds to a commit with %s leaves the commit undecided", async (_, response) => {
    await using server = await startFakeServer(response);
    await using kv = await open([server.endpoint]);
    await expect(kv.commit(CHANGE)).rejects.toMatchObject({ name: "StorageError", code: "undecided" });
    expect(server.calls).toEqual([METHOD.txn]);
  });

  test.each<[string, number, string]>([
    ["too-large", 3, "etcdserver: request is too large"],
    ["too-large", 8, "grpc: received message larger than max (3 vs. 2)"],
    ["lease-not-found", 5, "etcdserver: requested lease not found"],
    ["unavailable", 14, "etcdserver: no leader"],
    ["unavailable", 8, "etcdserver: too many requests"],
    ["unavailable", 14, "etcdserver: rpc not supported for learner"],
    ["unavailable", 9, "etcdserver: rpc not supported for learner"],
    ["unavailable", 7, "etcdserver: permission denied"],
    ["unavailable", 2, "raft proposal dropped"],
  ])("that rejects a commit causes the error %s: status %i, %s", async (code, status, message) => {
    await using server = await startFakeServer(replying(status, message));
    await using kv = await open([server.endpoint]);
    await expect(kv.commit(CHANGE)).rejects.toMatchObject({ name: "StorageError", code });
  });

  test("receives a request for fewer keys after its response has exceeded the message size limit", async () => {
    await using server = await startFakeServer(failing(2, (stream) => respond(stream, oversizeHeader())));
    await using kv = await open([server.endpoint]);
    expect(await kv.range({ start: "/", end: "0" })).toMatchObject({ revision: 42 });
    expect(server.calls).toHaveLength(3);
  });
});

describe("an etcd store", () => {
  test("rejects a request that is too large without sending it", async () => {
    await using server = await startFakeServer((stream) => respond(stream, rangeFrame(42)));
    await using kv = await open([server.endpoint]);
    const value = Buffer.alloc(MESSAGE_SEND_BYTES_MAX + 1);
    await expect(kv.commit({ ...CHANGE, value })).rejects.toMatchObject({ code: "too-large" });
    expect(server.calls).toEqual([]);
  });

  test("that has never reached an endpoint rejects waiting requests when it closes", async () => {
    const { promise: failed, resolve: onFailed } = Promise.withResolvers<void>();
    const kv = await openEtcdKv({
      endpoints: [DEAD],
      clock: realClock(),
      requestTimeoutMs: 600_000,
      log: () => onFailed(),
    });
    const waiting = Promise.allSettled([kv.currentRevision(), kv.commit(CHANGE)]);
    await failed;
    await kv.close();
    for (const outcome of await waiting)
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
  });

  test("that closes during its first connection attempt rejects the requests that wait for the connection", async () => {
    const kv = await openEtcdKv({ endpoints: [DEAD], clock: realClock(), requestTimeoutMs: 600_000 });
    const waiting = kv.currentRevision();
    const closed = kv.close();
    await expect(waiting).rejects.toMatchObject({ code: "unavailable" });
    await closed;
  });

  test("completes accepted requests while it closes, and rejects later requests", async () => {
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<() => void>();
    await using server = await startFakeServer((stream) => onAsked(() => respond(stream, rangeFrame(42))));
    const kv = await open([server.endpoint]);
    const accepted = kv.range({ start: "/a" });
    const pay = await asked;
    const closed = kv.close();
    await expect(kv.currentRevision()).rejects.toMatchObject({ code: "unavailable" });
    pay();
    expect(await accepted).toMatchObject({ revision: 42 });
    await closed;
  });
});

function oversizeHeader(): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(MESSAGE_RECEIVE_BYTES_MAX + 1, 1);
  return header;
}

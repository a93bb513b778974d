import { once } from "node:events";
import { connect, constants } from "node:http2";
import { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

import { describe, expect, test } from "vitest";

import { type ApiRequest, type StreamFrame, NO_BODY, type StreamSink } from "../message.ts";
import {
  collect,
  deferred,
  http2Client,
  http2Response,
  http2Session,
  ok,
  rawConnection,
  startServer,
  streaming,
  untilClosed,
} from "../../../../test/testing/serving/http/node/test-server.ts";

const HELLO = async () => ok(Buffer.from("hello"));

describe("HTTP/2 requests:", () => {
  test("a request without a path is rejected", async () => {
    await using server = await startServer(HELLO);
    await using session = http2Session(server);
    const stream = session.request({ ":method": "CONNECT", ":authority": "x:1" });
    expect((await http2Response(stream)).status).toBe(400);
  });

  test.each([
    ["more bytes of headers than allowed", { a: "x".repeat(5_000) }],
    ["more headers than allowed", Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`a${index}`, ""]))],
  ])("a request with %s is rejected", async (_, headers) => {
    await using server = await startServer(HELLO, { limits: { headerBytesMax: 4_096, headerCountMax: 100 } });
    await using client = http2Client(server);
    // The byte limit applies once the client has acknowledged it. Until then, nghttp2's limit of 64 KiB applies.
    await client.ask({ path: "/" });
    await expect(client.ask({ path: "/", headers })).rejects.toThrow();
    expect((await client.ask({ path: "/" })).status).toBe(200);
  });

  test.each([
    ["read", async ({ body }: ApiRequest) => ok(await body.read(10))],
    ["streamed", async ({ body }: ApiRequest) => ok(await collect(body.stream()))],
  ])("100 Continue is sent when the handler reads the body (%s)", async (_, handle) => {
    await using server = await startServer(handle);
    await using session = http2Session(server);
    const stream = session.request({ ":method": "POST", ":path": "/", expect: "100-continue" });
    await once(stream, "continue");
    stream.end("ab");
    expect((await collect(stream)).toString()).toBe("ab");
  });

  test("the rest of an unread body is discarded for a limited time only, and then the stream is closed", async () => {
    await using server = await startServer(async () => ({ status: 413, headers: {}, body: NO_BODY }), {
      limits: { unreadBodyMs: 20 },
    });
    await using session = http2Session(server);
    const stream = session.request({ ":method": "POST", ":path": "/" });
    stream.write("abc");
    expect((await http2Response(stream)).status).toBe(413);
    stream.resume();
    await once(stream, "close");
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  test("invalid bytes affect only their own connection", async () => {
    await using server = await startServer(HELLO);
    const socket = await rawConnection(server, "h2");
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await untilClosed(socket);
    await using client = http2Client(server);
    expect((await client.ask({ path: "/" })).status).toBe(200);
    expect(server.logged).toEqual([]);
  });

  test("a connection whose client resets many streams is closed", async () => {
    await using server = await startServer(HELLO, { limits: { streamResetBurst: 20, streamResetsPerSecond: 1 } });
    await using session = http2Session(server);
    await once(session, "remoteSettings");
    const closed = new Promise((resolve) => session.on("close", resolve));
    for (let index = 0; index < 100; index++) {
      const stream = session.request({ ":path": "/" });
      stream.on("error", () => undefined);
      stream.close(constants.NGHTTP2_CANCEL);
    }
    await closed;
  });

  test("an idle connection is closed, but a connection with an open stream is not", async () => {
    await using server = await startServer(async () => streaming(() => undefined), {
      limits: { idleConnectionMs: 40 },
    });
    await using busy = http2Session(server);
    await using idle = http2Session(server);
    await http2Response(busy.request({ ":path": "/" }));
    await once(idle, "close");
    expect(busy.closed).toBe(false);
  });
});

describe("HTTP/2 streams:", () => {
  test("a large list and 200 streams progress together on one connection", async () => {
    const sinks: StreamSink[] = [];
    const allOpen = deferred();
    const list = Array.from({ length: 8_000 }, () => Buffer.alloc(3_200, "y"));
    await using server = await startServer(async (request) => {
      if (request.path === "/list") return ok(...list);
      return streaming((sink) => {
        sinks.push(sink);
        if (sinks.length === 200) allOpen.resolve();
      });
    });
    await using client = http2Client(server);
    const watches = Array.from({ length: 200 }, () => client.ask({ path: "/watch" }));
    await allOpen.promise;
    const lists = [client.ask({ path: "/list" }), client.ask({ path: "/list" })];
    const frame: StreamFrame = { bytes: Buffer.alloc(3_000, "z") };
    for (let event = 0; event < 10; event++) {
      for (const sink of sinks) sink.write(frame);
      await new Promise(setImmediate);
    }
    for (const sink of sinks) sink.end();
    for (const watch of await Promise.all(watches)) expect(watch.body).toHaveLength(30_000);
    for (const response of await Promise.all(lists)) expect(response.body).toHaveLength(25_600_000);
  });

  test("a client that disconnects closes the stream once and aborts the signal", async () => {
    let closed = 0;
    let signal: AbortSignal | undefined;
    const gone = deferred();
    await using server = await startServer(async (request) => {
      signal = request.signal;
      return streaming((sink) => {
        sink.onClose(() => closed++);
        request.signal.addEventListener("abort", () => gone.resolve());
        sink.write({ bytes: Buffer.from("x") });
      });
    });
    await using session = http2Session(server);
    const stream = session.request({ ":path": "/" });
    await once(stream, "data");
    stream.close(constants.NGHTTP2_CANCEL);
    await gone.promise;
    expect([closed, signal?.aborted, server.listener.openRequests()]).toEqual([1, true, 0]);
    expect(session.closed).toBe(false);
  });

  test("the frame that a write causes in a stream is sent before the response to the write", async () => {
    const WRITES = 10;
    const opened = deferred<StreamSink>();
    await using server = await startServer(async (request) => {
      if (request.path === "/watch") return streaming((sink) => opened.resolve(sink));
      (await opened.promise).write({ bytes: Buffer.from("event") });
      return ok(Buffer.from("written"));
    });
    const { connection, received } = recorded(await rawConnection(server, "h2"));
    const session = connect(`https://127.0.0.1:${server.listener.port}`, { createConnection: () => connection });
    const watch = session.request({ ":path": "/watch" });
    watch.on("data", () => undefined);
    await http2Response(watch);
    for (let write = 0; write < WRITES; write++) {
      const stream = session.request({ ":path": "/write", ":method": "POST" });
      stream.resume();
      await once(stream, "end");
    }
    session.destroy();
    const frames = framesOf(Buffer.concat(received)).filter(({ type, stream }) => type <= HEADERS && stream > 0);
    const expected = Array.from({ length: WRITES }, (_, write) => 2 * write + 3).flatMap((stream) => [
      { type: DATA, stream: 1 },
      { type: HEADERS, stream },
      { type: DATA, stream },
    ]);
    expect(
      frames.filter(({ type, length }) => type === HEADERS || length > 0).map(({ type, stream }) => ({ type, stream })),
    ).toEqual([{ type: HEADERS, stream: 1 }, ...expected]);
  });

  test("an aborted stream is reset with an internal error", async () => {
    await using server = await startServer(async () => streaming((sink) => sink.abort()));
    await using session = http2Session(server);
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => undefined).resume();
    if (!stream.closed) await new Promise((resolve) => stream.on("close", resolve));
    expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
  });

  test("the sink counts the bytes that a slow client has not taken, and calls onDrain when it has taken them", async () => {
    const opened = deferred<StreamSink>();
    await using server = await startServer(async () => streaming((sink) => opened.resolve(sink)));
    await using session = http2Session(server);
    const stream = session.request({ ":path": "/" });
    const sink = await opened.promise;
    const drained = deferred();
    sink.onDrain(() => drained.resolve());
    const frame: StreamFrame = { bytes: Buffer.alloc(100_000, "x") };
    for (let written = 0; written < 100; written++) sink.write(frame);
    expect(sink.bufferedBytes()).toBeGreaterThan(9_000_000);
    const body = collect(stream);
    await drained.promise;
    expect(sink.bufferedBytes()).toBe(0);
    sink.end();
    expect(await body).toHaveLength(10_000_000);
  });
});

const DATA = 0;
const HEADERS = 1;

/** A connection for Node's client that records the bytes which the server sends. */
function recorded(socket: TLSSocket): { readonly connection: Duplex; readonly received: Buffer[] } {
  const received: Buffer[] = [];
  const connection = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => void socket.write(chunk, () => done()),
    destroy: (_error, done) => {
      socket.destroy();
      done(null);
    },
  });
  socket.on("data", (chunk: Buffer) => {
    received.push(chunk);
    connection.push(chunk);
  });
  return { connection, received };
}

function framesOf(bytes: Buffer): { readonly type: number; readonly stream: number; readonly length: number }[] {
  const frames: { type: number; stream: number; length: number }[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    frames.push({ type: bytes[at + 3]!, stream: bytes.readUInt32BE(at + 5), length: bytes.readUIntBE(at, 3) });
  return frames;
}

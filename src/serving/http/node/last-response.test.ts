import { once } from "node:events";
import type { TLSSocket } from "node:tls";

import { describe, expect, test } from "vitest";

import { asLastResponse } from "../last-response.ts";
import type { ApiRequest, ApiResponse, StreamSink } from "../message.ts";
import {
  collect,
  deferred,
  http1Client,
  http2Client,
  http2Response,
  ok,
  rawConnection,
  startServer,
  streaming,
  type TestServer,
  untilClosed,
} from "../../../../test/testing/serving/http/node/test-server.ts";

const LONG_MS = 60_000;

async function lastOnLast(request: ApiRequest): Promise<ApiResponse> {
  const response = ok(Buffer.from(request.path));
  return request.path === "/last" ? asLastResponse(response) : response;
}

describe("a response with Connection: close", () => {
  test("ends its HTTP/1.1 connection", async () => {
    await using server = await startServer(lastOnLast);
    await using client = http1Client(server);
    const [first, last, other] = [
      await client.ask({ path: "/" }),
      await client.ask({ path: "/last" }),
      await client.ask({ path: "/" }),
    ];
    expect([first.headers, last.headers].map(({ connection }) => connection)).toEqual(["keep-alive", "close"]);
    expect(last.body.toString()).toBe("/last");
    expect([last.localPort === first.localPort, other.localPort === first.localPort]).toEqual([true, false]);
  });

  test("ends an HTTP/1.1 connection only after the responses to pipelined requests that were already read", async () => {
    await using server = await startServer(lastOnLast);
    const socket = await rawConnection(server, "http/1.1");
    const ask = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
    socket.write(ask("/last") + ask("/second") + ask("/third"));
    const responses = (await untilClosed(socket)).split("HTTP/1.1 200 OK").slice(1);
    expect(responses.map((text) => text.split("\r\n\r\n")[1])).toEqual(["/last", "/second", "/third"]);
    expect(responses.map((text) => /connection: (\S+)/i.exec(text)?.[1])).toEqual([
      "keep-alive",
      "keep-alive",
      "close",
    ]);
  });

  test("reaches an HTTP/1.1 client that is still sending its body and reads later", async () => {
    const rejected = deferred();
    await using server = await startServer(async () => {
      rejected.resolve();
      return asLastResponse({ ...ok(Buffer.from("no")), status: 503 });
    });
    const socket = await rawConnection(server, "http/1.1");
    socket.pause();
    await written(socket, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    await rejected.promise;
    for (let piece = 0; piece < 10; piece++) await written(socket, "x".repeat(100));
    expect(await untilClosed(socket.resume())).toMatch(/^HTTP\/1.1 503 .*\r\n\r\nno$/s);
  });

  test("makes an HTTP/2 client reconnect, and its open streams continue", async () => {
    const opened = deferred<StreamSink>();
    await using server = await startServer(async (request) =>
      request.path === "/stream" ? streaming((sink) => opened.resolve(sink)) : lastOnLast(request),
    );
    await using client = http2Client(server);
    const stream = client.session.request({ ":path": "/stream" });
    await http2Response(stream);
    const body = collect(stream);
    const goaway = once(client.session, "goaway");
    const response = await client.ask({ path: "/last" });
    expect([response.status, response.headers["connection"], response.body.toString()]).toEqual([
      200,
      undefined,
      "/last",
    ]);
    expect((await goaway)[0]).toBe(0);
    await using next = http2Client(server);
    expect((await next.ask({ path: "/" })).status).toBe(200);
    const sink = await opened.promise;
    sink.write({ bytes: Buffer.from("still here") });
    const closed = once(client.session, "close");
    sink.end();
    expect((await body).toString()).toBe("still here");
    await closed;
  });

  test("closes an HTTP/2 connection, even if the client ignores GOAWAY", async () => {
    await using server = await startServer(async () => asLastResponse(ok()));
    const { frames, request, closed } = await rawHttp2(server);
    request(1);
    await closed;
    expect([...new Set(frames)].toSorted()).toEqual(["GOAWAY 1", "HEADERS 1"]);
  });
});

describe("a draining listener", () => {
  test("tells an HTTP/2 client by GOAWAY which of its streams it has not handled", async () => {
    const opened = deferred<StreamSink>();
    let asked = 0;
    await using server = await startServer(async () => {
      asked++;
      return streaming((sink) => opened.resolve(sink));
    });
    const { frames, request, received, closed } = await rawHttp2(server);
    request(1);
    await received("HEADERS 1");
    server.listener.stopAccepting();
    await received("GOAWAY 1");
    request(3);
    (await opened.promise).end();
    await server.listener.close(LONG_MS);
    await closed;
    expect([asked, [...new Set(frames)]]).toEqual([1, ["HEADERS 1", "GOAWAY 1"]]);
  });

  test("serves requests on idle HTTP/1.1 connections until it closes these connections", async () => {
    const open = deferred<StreamSink>();
    await using server = await startServer(async (request) =>
      request.path === "/stream" ? streaming((sink) => open.resolve(sink)) : lastOnLast(request),
    );
    await using busy = http1Client(server);
    await using idle = http1Client(server);
    const before = await idle.ask({ path: "/" });
    const stream = busy.ask({ path: "/stream" });
    const sink = await open.promise;
    const closed = server.listener.close(LONG_MS);
    const late = await idle.ask({ path: "/late" });
    expect([late.status, late.headers["connection"], late.localPort]).toEqual([200, "close", before.localPort]);
    sink.end();
    expect((await stream).status).toBe(200);
    await closed;
  });

  test("ends idle HTTP/1.1 connections without a reset, and handles no request that arrives afterwards", async () => {
    const asked: string[] = [];
    await using server = await startServer(async (request) => (asked.push(request.path), ok()));
    const [late, other] = [await rawConnection(server, "http/1.1"), await rawConnection(server, "http/1.1")];
    // The client continues to send, like one that has not yet noticed the end.
    late.allowHalfOpen = true;
    late.write("GET /first HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(late, "data");
    const isEnding = once(other.resume(), "end");
    const closed = server.listener.close(LONG_MS);
    await isEnding;
    for (const piece of ["POST /too-late HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n", "x", "x"])
      await written(late, piece);
    late.end();
    expect(await untilClosed(late)).toBe("");
    await closed;
    expect(asked).toEqual(["/first"]);
  });

  test("sends Connection: close to a busy client before it closes the connection", async () => {
    await using server = await startServer(lastOnLast);
    await using client = http1Client(server);
    const before = await client.ask({ path: "/" });
    const closed = server.listener.close(LONG_MS);
    const after = await client.ask({ path: "/" });
    expect([after.headers["connection"], after.localPort]).toEqual(["close", before.localPort]);
    await closed;
  });
});

/** Resolves when the kernel has accepted the text and the server has had time to reset the connection. */
async function written(socket: TLSSocket, text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.write(text, (error) => (error ? reject(error) : resolve()));
  });
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

const [HEADERS, SETTINGS, GOAWAY] = [1, 4, 7] as const;
const [END_STREAM, END_HEADERS] = [1, 4] as const;

interface RawHttp2 {
  /** The received frames: "HEADERS 1" for a response on stream 1, "GOAWAY 1" for a GOAWAY with 1 as the last stream. */
  readonly frames: readonly string[];
  readonly closed: Promise<unknown>;
  request(streamId: number): void;
  received(frame: string): Promise<void>;
}

/** Opens an HTTP/2 client that sends requests and records the frames of the server. */
async function rawHttp2(server: TestServer): Promise<RawHttp2> {
  const socket = await rawConnection(server, "h2");
  const frames: string[] = [];
  let rest = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const length = rest.readUIntBE(0, 3);
      if (rest[3] === HEADERS) frames.push(`HEADERS ${rest.readUInt32BE(5)}`);
      if (rest[3] === GOAWAY) frames.push(`GOAWAY ${rest.readUInt32BE(9)}`);
      rest = rest.subarray(9 + length);
    }
    socket.emit("frames");
  });
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  socket.write(http2Frame({ type: SETTINGS, flags: 0, streamId: 0, payload: [] }));
  // The encoded headers :method GET, :scheme https, :path /, :authority a.
  const payload = [0x82, 0x87, 0x84, 0x41, 1, 0x61];
  return {
    frames,
    closed: once(socket, "close"),
    request: (streamId) =>
      void socket.write(http2Frame({ type: HEADERS, flags: END_STREAM | END_HEADERS, streamId, payload })),
    async received(frame) {
      while (!frames.includes(frame)) await once(socket, "frames");
    },
  };
}

function http2Frame(frame: { type: number; flags: number; streamId: number; payload: readonly number[] }): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(frame.payload.length, 0, 3);
  head.set([frame.type, frame.flags], 3);
  head.writeUInt32BE(frame.streamId, 5);
  return Buffer.concat([head, Buffer.from(frame.payload)]);
}

test("after announceEnd, each HTTP/1.1 response is the last of its connection, and HTTP/2 connections continue", async () => {
  await using server = await startServer(lastOnLast);
  await using client = http1Client(server);
  await using http2 = http2Client(server);
  const before = await client.ask({ path: "/" });
  server.listener.announceEnd();
  const [last, other] = [await client.ask({ path: "/" }), await client.ask({ path: "/" })];
  expect([before, last, other].map(({ headers }) => headers.connection)).toEqual(["keep-alive", "close", "close"]);
  expect([last.localPort === before.localPort, other.localPort === before.localPort]).toEqual([true, false]);
  for (const path of ["/", "/"]) await http2Response(http2.session.request({ ":path": path }));
  expect(http2.session.closed).toBe(false);
});

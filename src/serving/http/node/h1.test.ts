import { once } from "node:events";
import { request as httpsRequest } from "node:https";
import type { IncomingMessage } from "node:http";

import { describe, expect, test } from "vitest";

import { type ApiRequest, type StreamFrame, NO_BODY, type StreamSink } from "../message.ts";
import {
  collect,
  deferred,
  http1Client,
  ok,
  rawConnection,
  startServer,
  streaming,
  untilClosed,
} from "../../../../test/testing/serving/http/node/test-server.ts";

const HELLO = async () => ok(Buffer.from("hello"));

describe("HTTP/1.1 requests:", () => {
  test("pipelined requests receive their responses in order, including streams", async () => {
    const slow = deferred();
    await using server = await startServer(async (request) => {
      if (request.path === "/slow") await slow.promise;
      if (request.path === "/stream") {
        return streaming((sink) => {
          sink.write({ bytes: Buffer.from("streamed") });
          slow.resolve();
          sink.end();
        });
      }
      return ok(Buffer.from(request.path));
    });
    const socket = await rawConnection(server, "http/1.1");
    const paths = ["/slow", "/stream", "/b", "/last"];
    socket.write(
      paths
        .map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${path === "/last" ? "Connection: close\r\n" : ""}\r\n`)
        .join(""),
    );
    const text = await untilClosed(socket);
    expect(text.match(/\/slow|8\r\nstreamed\r\n0\r\n\r\n|\/b|\/last/g)).toEqual([
      "/slow",
      "8\r\nstreamed\r\n0\r\n\r\n",
      "/b",
      "/last",
    ]);
  });

  test("a client that pipelines too many requests is disconnected", async () => {
    await using server = await startServer(() => new Promise(() => undefined), { limits: { pipelinedRequestsMax: 3 } });
    const socket = await rawConnection(server, "http/1.1");
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(4));
    expect(await untilClosed(socket)).toBe("");
    expect(server.listener.openRequests()).toBe(0);
  });

  test.each(["https://elsewhere/path", "*"])("the target %s is rejected", async (target) => {
    await using server = await startServer(HELLO);
    const socket = await rawConnection(server, "http/1.1");
    socket.write(`OPTIONS ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 400 /);
  });

  test.each([
    ["more bytes of headers than allowed", `a: ${"x".repeat(5_000)}\r\n`],
    ["ten thousand headers", "a:b\r\n".repeat(10_000)],
    ["more headers than allowed within the allowed bytes", "a:b\r\n".repeat(101)],
  ])("a request with %s is rejected with 431", async (_, headers) => {
    await using server = await startServer(HELLO, { limits: { headerBytesMax: 4_096, headerCountMax: 100 } });
    const socket = await rawConnection(server, "http/1.1");
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 431 /);
  });

  test("a client that never completes its headers receives 408", async () => {
    await using server = await startServer(HELLO, { limits: { headersTimeoutMs: 50 } });
    const socket = await rawConnection(server, "http/1.1");
    socket.write("GET / HTTP/1.1\r\nHost:");
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 408 /);
  });

  test("a client that never sends anything is disconnected", async () => {
    await using server = await startServer(HELLO, { limits: { headersTimeoutMs: 50 } });
    await untilClosed(await rawConnection(server, "http/1.1"));
  });

  test("invalid bytes affect only their own connection", async () => {
    await using server = await startServer(HELLO);
    const socket = await rawConnection(server, "http/1.1");
    socket.write(Buffer.from([0, 255, 13, 10, 13, 10, 1, 2, 3]));
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 400 /);
    await using client = http1Client(server);
    expect((await client.ask({ path: "/" })).status).toBe(200);
    expect(server.logged).toEqual([]);
  });

  test.each([
    ["read", async ({ body }: ApiRequest) => ok(await body.read(10))],
    ["streamed", async ({ body }: ApiRequest) => ok(await collect(body.stream()))],
  ])("100 Continue is sent when the handler reads the body (%s)", async (_, handle) => {
    await using server = await startServer(handle);
    const socket = await rawConnection(server, "http/1.1");
    socket.write(
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
    );
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(first.toString()).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write("ab");
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 200 .*\r\n\r\nab$/s);
  });

  test("a client that waits for 100 Continue receives a final response instead, and then the connection ends", async () => {
    await using server = await startServer(async () => ({ status: 403, headers: {}, body: NO_BODY }));
    const socket = await rawConnection(server, "http/1.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 403 .*Connection: close/s);
  });

  test("the rest of an unread body is discarded for a limited time only, and then the connection is closed", async () => {
    await using server = await startServer(async () => ({ status: 413, headers: {}, body: NO_BODY }), {
      limits: { unreadBodyMs: 20 },
    });
    const socket = await rawConnection(server, "http/1.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc");
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 413 /);
  });

  test("if a client disconnects while the handler reads its body, the read fails and the signal aborts", async () => {
    const outcome = deferred<{ message: string; aborted: boolean }>();
    const reading = deferred();
    await using server = await startServer(async (request) => {
      const read = request.body.read(100);
      reading.resolve();
      const message = await read.then(
        () => "read",
        (error: unknown) => (error as Error).message,
      );
      await new Promise(setImmediate);
      outcome.resolve({ message, aborted: request.signal.aborted });
      return ok();
    });
    const socket = await rawConnection(server, "http/1.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc");
    await reading.promise;
    socket.destroy();
    expect(await outcome.promise).toEqual({
      message: "the client disconnected before its request was complete",
      aborted: true,
    });
  });
});

test("a response that cannot be sent becomes a 500", async () => {
  await using server = await startServer(async () => ({ status: 200, headers: { "x-bad": "a\r\nb" }, body: NO_BODY }));
  await using client = http1Client(server);
  expect((await client.ask({ path: "/" })).status).toBe(500);
  expect(server.logged).toEqual(["sending a response failed"]);
});

describe("HTTP/1.1 streams:", () => {
  test("a frame is encoded as a chunk once for all clients", async () => {
    const frame: StreamFrame = { bytes: Buffer.from("event") };
    const framings = new Set<Buffer | undefined>();
    await using server = await startServer(async () =>
      streaming((sink) => {
        sink.write(frame);
        framings.add(frame.chunked);
        sink.end();
      }),
    );
    await using one = http1Client(server);
    await using two = http1Client(server);
    const bodies = (await Promise.all([one.ask({ path: "/" }), two.ask({ path: "/" })])).map((response) =>
      response.body.toString(),
    );
    expect(bodies).toEqual(["event", "event"]);
    expect([...framings].map(String)).toEqual(["5\r\nevent\r\n"]);
  });

  test("an HTTP/1.0 client receives plain bytes until the connection closes", async () => {
    await using server = await startServer(async () =>
      streaming((sink) => {
        sink.write({ bytes: Buffer.from("event") });
        sink.end();
      }),
    );
    const socket = await rawConnection(server, "http/1.1");
    socket.write("GET / HTTP/1.0\r\n\r\n");
    expect(await untilClosed(socket)).toMatch(/\r\n\r\nevent$/);
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
    await using client = http1Client(server);
    const request = httpsRequest({ agent: client.agent, host: "127.0.0.1", port: server.listener.port });
    request.on("error", () => undefined).end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    await once(response, "data");
    request.destroy();
    await gone.promise;
    expect([closed, signal?.aborted, server.listener.openRequests()]).toEqual([1, true, 0]);
  });

  test("a stream that is returned after the client has disconnected is opened and closed", async () => {
    const arrived = deferred();
    const closed = deferred();
    await using server = await startServer(async (request) => {
      arrived.resolve();
      await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      return streaming((sink) => {
        expect(sink.write({ bytes: Buffer.from("x") })).toBe(true);
        sink.onClose(() => closed.resolve());
      });
    });
    const socket = await rawConnection(server, "http/1.1");
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await arrived.promise;
    socket.destroy();
    await closed.promise;
  });

  test("the sink counts the bytes that a slow client has not taken, and calls onDrain when it has taken them", async () => {
    const opened = deferred<StreamSink>();
    await using server = await startServer(async () => streaming((sink) => opened.resolve(sink)));
    await using client = http1Client(server);
    const request = httpsRequest({ agent: client.agent, host: "127.0.0.1", port: server.listener.port }).end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const sink = await opened.promise;
    const drained = deferred();
    sink.onDrain(() => drained.resolve());
    const frame: StreamFrame = { bytes: Buffer.alloc(1_000_000, "x") };
    let written = 0;
    while (written < 30) {
      sink.write(frame);
      written++;
    }
    expect(sink.bufferedBytes()).toBeGreaterThan(10_000_000);
    const body = collect(response);
    await drained.promise;
    expect(sink.bufferedBytes()).toBe(0);
    sink.end();
    expect((await body).length).toBe(30_000_000);
  });
});

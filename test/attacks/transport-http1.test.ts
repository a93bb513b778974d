/**
 * Tests of HTTP/1.1 requests that two servers could interpret differently, and of clients that never complete a
 * request.
 */
import { once } from "node:events";
import type { TLSSocket } from "node:tls";
import { describe, expect, test } from "vitest";

import { BodyTooLargeError, type ApiRequest, type ApiResponse } from "../../src/serving/http/message.ts";
import { http1Client, ok, rawConnection, startServer, untilClosed } from "../testing/serving/http/node/test-server.ts";
import { connectionsLeft } from "./transport-frames.ts";

const POST = "POST / HTTP/1.1\r\nHost: x\r\n";
const GET = "GET / HTTP/1.1\r\nHost: x\r\n";
const SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
const CHUNKED = "Transfer-Encoding: chunked\r\n";

const AMBIGUOUS: readonly (readonly [string, string])[] = [
  ["a length, then an encoding", `${POST}Content-Length: 5\r\n${CHUNKED}\r\n0\r\n\r\n`],
  ["an encoding, then a length", `${POST}${CHUNKED}Content-Length: 5\r\n\r\n0\r\n\r\n`],
  ["two lengths", `${POST}Content-Length: 4\r\nContent-Length: 0\r\n\r\nabcd`],
  ["the same length twice", `${POST}Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd`],
  ["a list of lengths", `${POST}Content-Length: 4, 4\r\n\r\nabcd`],
  ["a length with a sign", `${POST}Content-Length: +4\r\n\r\nabcd`],
  ["a negative length", `${POST}Content-Length: -4\r\n\r\nabcd`],
  ["a length out of range", `${POST}Content-Length: 99999999999999999999999\r\n\r\nabcd`],
  ["an empty length", `${POST}Content-Length:\r\n\r\nabcd`],
  ["an unknown encoding", `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ["two encodings", `${POST}${CHUNKED}Transfer-Encoding: identity\r\n\r\n0\r\n\r\n`],
  ["chunks that are not the last encoding", `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
  ["chunks in HTTP/1.0", `POST / HTTP/1.0\r\n${CHUNKED}\r\n0\r\n\r\n`],
  ["an encoding on a folded line", `${POST}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
  ["a space before the colon", `${POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
  ["a chunk of negative length", `${POST}${CHUNKED}\r\n-1\r\nabc\r\n0\r\n\r\n`],
  ["a chunk length out of range", `${POST}${CHUNKED}\r\nfffffffffffffffff\r\nabc\r\n0\r\n\r\n`],
  ["a chunk longer than its length", `${POST}${CHUNKED}\r\n1\r\nabc\r\n0\r\n\r\n`],
  ["a chunk line that ends in LF", `${POST}${CHUNKED}\r\n1\nx\r\n0\r\n\r\n`],
  ["a chunk with an endless extension", `${POST}${CHUNKED}\r\n1;${"a".repeat(100_000)}\r\nx\r\n0\r\n\r\n`],
  ["endless trailers", `${POST}${CHUNKED}\r\n1\r\nx\r\n0\r\n${"a: b\r\n".repeat(20_000)}\r\n`],
  ["a folded line", `${GET}A: b\r\n c\r\n\r\n`],
  ["a first line that is folded", "GET / HTTP/1.1\r\n Host: x\r\n\r\n"],
  ["a NUL in a value", `${GET}A: b\0c\r\n\r\n`],
  ["a NUL in a name", `${GET}A\0: b\r\n\r\n`],
  ["a control character in a value", `${GET}A: b\u0001c\r\n\r\n`],
  ["a CR in a value", `${GET}A: b\rX-Remote-User: root\r\n\r\n`],
  ["a LF in a value", `${GET}A: b\nX-Remote-User: root\r\n\r\n`],
  ["lines that end in LF", "GET / HTTP/1.1\nHost: x\n\n"],
  ["a malformed name", `${GET}A(b): c\r\n\r\n`],
  ["a line without a colon", `${GET}Abc\r\n\r\n`],
  ["no host", "GET / HTTP/1.1\r\n\r\n"],
  ["two hosts", "GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n"],
  ["a space in the path", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["a NUL in the path", "GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n"],
];

async function answer(request: ApiRequest): Promise<ApiResponse> {
  try {
    return ok(await request.body.read(1_000_000));
  } catch (thrown) {
    return { ...ok(), status: thrown instanceof BodyTooLargeError ? 413 : 400 };
  }
}

test.each(AMBIGUOUS)(
  "a request with %s is rejected and its connection is closed, and the server does not read later bytes",
  async (_, text) => {
    const answered: string[] = [];
    await using server = await startServer(async (request) => {
      const response = await answer(request);
      if (response.status === 200) answered.push(request.path);
      return response;
    });
    const socket = await rawConnection(server, "http/1.1");
    socket.write(Buffer.from(`${text}${SMUGGLED}`, "latin1"));
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 4(00|31) [^]*$/);
    expect(answered).toEqual([]);
    await connectionsLeft(server, 0);
    expect(server.listener.openRequests()).toBe(0);
  },
);

test("a chunked body of 100 MB returns 413, and the connection is closed", async () => {
  await using server = await startServer(answer);
  const socket = await rawConnection(server, "http/1.1");
  const all = untilClosed(socket);
  socket.write(`${POST}${CHUNKED}\r\n`);
  const piece = Buffer.from(`10000\r\n${"x".repeat(0x1_0000)}\r\n`);
  for (let sent = 0; sent < 100_000_000 && !socket.destroyed; sent += piece.length)
    if (!socket.write(piece)) await Promise.race([once(socket, "drain").catch(() => undefined), all]);
  const text = await all;
  expect(text).toMatch(/^HTTP\/1.1 413 /);
  expect(text.toLowerCase()).toContain("\r\nconnection: close\r\n");
  await connectionsLeft(server, 0);
});

describe("a client that slowly sends the bytes", () => {
  const limits = { headersTimeoutMs: 250, requestTimeoutMs: 300 };

  /** Sends the text every 5 ms, so that an idle timer would never fire. */
  function trickle(socket: TLSSocket, text: string): void {
    const timer = setInterval(() => void socket.write(text), 5);
    const stop = (): void => clearInterval(timer);
    socket.once("end", stop).once("close", stop);
  }

  test.each([
    ["of its headers", GET, "a"],
    ["of its body", `${POST}Content-Length: 100000\r\n\r\n`, "a"],
    ["of its chunks", `${POST}${CHUNKED}\r\n`, "1\r\nx\r\n"],
  ])("%s loses its connection, and other clients are served meanwhile", async (_, first, then) => {
    await using server = await startServer(answer, { limits });
    await using bystander = http1Client(server);
    const sockets = await Promise.all(Array.from({ length: 20 }, () => rawConnection(server, "http/1.1")));
    const closed = sockets.map(untilClosed);
    for (const socket of sockets) {
      socket.write(first);
      trickle(socket, then);
    }
    expect((await bystander.ask({ path: "/" })).status).toBe(200);
    for (const text of await Promise.all(closed)) expect(text).toMatch(/^HTTP\/1.1 4(08|00) /);
    expect(server.listener.openRequests()).toBe(0);
  });
});

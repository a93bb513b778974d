import { once } from "node:events";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

import { describe, expect, test } from "vitest";

import { type ApiRequest, type ApiResponse, NO_BODY, type ResponseHeaders } from "../message.ts";
import {
  collect,
  deferred,
  http2Client,
  ok,
  rawConnection,
  startServer,
  streaming,
  untilClosed,
} from "../../../../test/testing/serving/http/node/test-server.ts";

const ASKING = "Host: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: echo/1\r\n";
const REQUEST = `GET /exec HTTP/1.1\r\n${ASKING}\r\n`;

function switching(open: (socket: Duplex | undefined) => void, headers: ResponseHeaders = {}): ApiResponse {
  return { status: 101, headers: { upgrade: "echo/1", ...headers }, body: { kind: "upgrade", open } };
}

const echo = (socket: Duplex | undefined): void => void socket?.pipe(socket);

/** Reads until the received text ends with `end`. */
async function until(socket: TLSSocket, end: string): Promise<string> {
  let text = "";
  while (!text.endsWith(end)) text += ((await once(socket, "data")) as [Buffer])[0].toString("latin1");
  return text;
}

describe("an upgrade request", () => {
  test("reaches the handler like any other request, and its connection becomes a plain byte stream after 101", async () => {
    let seen: ApiRequest | undefined;
    await using server = await startServer(async (request) => {
      seen = request;
      return switching(echo, { "x-kept": ["1", "2"], "content-length": "3", connection: "Upgrade" });
    });
    const socket = await rawConnection(server, "http/1.1");
    socket.write(`POST /exec?a=b HTTP/1.1\r\n${ASKING}Content-Length: 0\r\n\r\n`);
    const head = await until(socket, "\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(head.match(/^[^:\r\n]*: .*$/gm)?.filter((line) => !line.startsWith("Date:"))).toEqual([
      "connection: Upgrade",
      "upgrade: echo/1",
      "x-kept: 1",
      "x-kept: 2",
    ]);
    expect(seen).toMatchObject({ method: "POST", path: "/exec", rawQuery: "a=b", body: { isEmpty: true } });
    expect(seen?.headers).toMatchObject({ upgrade: "echo/1", connection: "keep-alive, Upgrade" });
    expect(seen?.rawHeaders).toContain("Upgrade");
    socket.write("there");
    expect(await until(socket, "there")).toBe("there");
    expect([server.listener.openRequests(), seen?.signal.aborted]).toEqual([0, false]);
    const gone = once(seen!.signal, "abort");
    socket.destroy();
    await gone;
    expect(server.listener.openRequests()).toBe(0);
    expect(server.logged).toEqual([]);
  });

  test("loses no bytes that the client sends before it receives the response", async () => {
    const goOn = deferred();
    await using server = await startServer(async () => (await goOn.promise, switching(echo)));
    const socket = await rawConnection(server, "http/1.1");
    socket.write(`${REQUEST}early,`);
    await new Promise(setImmediate);
    socket.write("GET / HTTP/1.1\r\n\r\n");
    goOn.resolve();
    expect(await until(socket, "\r\n\r\nearly,GET / HTTP/1.1\r\n\r\n")).toMatch(/^HTTP\/1.1 101 /);
  });

  test("can follow other requests on its connection", async () => {
    await using server = await startServer(async ({ path }) => (path === "/" ? ok() : switching(echo)));
    const socket = await rawConnection(server, "http/1.1");
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await until(socket, "\r\n\r\n")).toMatch(/^HTTP\/1.1 200 .*keep-alive/s);
    socket.write(`${REQUEST}x`);
    expect(await until(socket, "x")).toMatch(/^HTTP\/1.1 101 /);
  });

  const items = Array.from({ length: 3_000 }, () => Buffer.alloc(2_000, "item "));
  test.each<[string, ApiResponse, number]>([
    ["an error", { status: 403, headers: {}, body: NO_BODY }, 0],
    ["a small body", ok(Buffer.from("hello")), 5],
    ["a large body", ok(...items), 6_000_000],
    ["a stream", streaming((sink) => (sink.write({ bytes: Buffer.from("abcdefgh") }), sink.end())), 18],
  ])("receives %s if the handler does not upgrade, and then the connection ends", async (_, response, bytes) => {
    await using server = await startServer(async () => response);
    const socket = await rawConnection(server, "http/1.1");
    // The client must receive the response even if the server has not read all its bytes.
    socket.write(REQUEST + "x".repeat(1_000_000));
    const [head = "", body = ""] = (await untilClosed(socket)).split(/(?<=\r\n\r\n)/s, 2);
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${response.status} .*Connection: close`, "s"));
    expect(body.length).toBe(bytes === 18 ? "8\r\nabcdefgh\r\n0\r\n\r\n".length : bytes);
    expect(server.listener.openRequests()).toBe(0);
    expect(server.logged).toEqual([]);
  });

  test.each([
    ["without a Host", "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: echo/1\r\n\r\n", 400],
    ["with too many headers", `GET / HTTP/1.1\r\n${ASKING}${"a: b\r\n".repeat(2_000)}\r\n`, 431],
    ["with a target that is not a path", `GET * HTTP/1.1\r\n${ASKING}\r\n`, 400],
  ])("%s is rejected", async (_, text, status) => {
    await using server = await startServer(() => expect.unreachable());
    const socket = await rawConnection(server, "http/1.1");
    socket.write(text);
    expect(await untilClosed(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  test("with a body receives an ordinary response, and then the connection ends", async () => {
    await using server = await startServer(async ({ body }) => ok(await body.read(10)));
    const socket = await rawConnection(server, "http/1.1");
    const post = `POST / HTTP/1.1\r\n${ASKING}Content-Length: 3\r\n\r\nabc`;
    socket.write(`${post}GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 200 .*Connection: close\r\n\r\nabc$/s);
  });
});

describe("a handler's 101 response fails", () => {
  test.each([
    ["to a request that did not ask for it", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["to a request with a body", `POST / HTTP/1.1\r\n${ASKING}Content-Length: 3\r\n\r\nabc`],
    ["on HTTP/1.0", "GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: echo/1\r\n\r\n"],
  ])("%s", async (_, text) => {
    const opened: unknown[] = [];
    await using server = await startServer(async () => switching((socket) => opened.push(socket)));
    const socket = await rawConnection(server, "http/1.1");
    socket.write(text);
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 400 .*Connection: close/s);
    expect(opened).toEqual([undefined]);
  });

  test("to a pipelined request that waits behind another one", async () => {
    const goOn = deferred();
    const opened: unknown[] = [];
    await using server = await startServer(async ({ path }) => {
      if (path === "/exec") return switching((socket) => opened.push(socket));
      await goOn.promise;
      return ok();
    });
    const socket = await rawConnection(server, "http/1.1");
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${REQUEST}more`);
    while (opened.length === 0) await new Promise(setImmediate);
    goOn.resolve();
    expect((await untilClosed(socket)).match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
    expect(opened).toEqual([undefined]);
  });

  test("on HTTP/2", async () => {
    const opened: unknown[] = [];
    await using server = await startServer(async () => switching((socket) => opened.push(socket)));
    await using client = http2Client(server);
    expect((await client.ask({ path: "/exec" })).status).toBe(501);
    expect(opened).toEqual([undefined]);
  });

  test("if its headers cannot be sent", async () => {
    const opened: unknown[] = [];
    await using server = await startServer(async () =>
      switching((socket) => opened.push(socket), { "x-bad": "a\r\nb" }),
    );
    const socket = await rawConnection(server, "http/1.1");
    socket.write(REQUEST);
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 500 /);
    expect([opened, server.logged]).toEqual([[undefined], ["sending a response failed"]]);
  });

  test.each(["destroy", "end"] as const)("if the client has disconnected (%s)", async (leave) => {
    const arrived = deferred();
    const opened = deferred<unknown>();
    await using server = await startServer(async (request) => {
      arrived.resolve();
      await once(request.signal, "abort");
      return switching(opened.resolve);
    });
    const socket = await rawConnection(server, "http/1.1");
    socket.write(REQUEST);
    await arrived.promise;
    socket[leave]();
    expect(await opened.promise).toBeUndefined();
    expect(server.listener.openRequests()).toBe(0);
  });
});

describe("an upgraded connection", () => {
  test("stays open while other requests are in flight, and is ended by a shutdown that waits only for these", async () => {
    const closed = deferred();
    const slow = deferred<ApiResponse>();
    await using server = await startServer(async ({ path }) =>
      path === "/slow"
        ? slow.promise
        : switching((socket) => (echo(socket), socket!.on("close", () => closed.resolve()))),
    );
    const socket = await rawConnection(server, "http/1.1");
    socket.write(`${REQUEST}x`);
    await until(socket, "x");
    const other = await rawConnection(server, "http/1.1");
    other.write("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    await expect.poll(() => server.listener.openRequests()).toBe(1);
    // The deadline is longer than that of the test: a shutdown that waits for the upgraded connection fails it.
    const closing = server.listener.close(600_000);
    socket.write("y");
    await until(socket, "y");
    slow.resolve({ status: 204, headers: {}, body: NO_BODY });
    await closing;
    await closed.promise;
    expect([server.listener.openRequests(), server.listener.openConnections()]).toEqual([0, 0]);
  });

  test("closes when its client ends the connection", async () => {
    const received = deferred<string | Promise<string>>();
    await using server = await startServer(async () =>
      switching((socket) => received.resolve(collect(socket!).then(String))),
    );
    const socket = await rawConnection(server, "http/1.1");
    socket.write(REQUEST);
    await until(socket, "\r\n\r\n");
    socket.end("last words");
    await untilClosed(socket);
    expect(await received.promise).toBe("last words");
    expect(server.listener.openRequests()).toBe(0);
  });

  test("does not affect other connections if its handler fails or its client resets it", async () => {
    await using server = await startServer(async ({ path }) => {
      if (path === "/exec") return switching(() => expect.unreachable("planted"));
      return switching((socket) => void socket!.write(Buffer.alloc(10_000_000)));
    });
    const failing = await rawConnection(server, "http/1.1");
    failing.write(REQUEST);
    expect(await untilClosed(failing)).toMatch(/^(HTTP\/1.1 101 .*)?$/s);
    const resetting = await rawConnection(server, "http/1.1");
    resetting.write(REQUEST.replace("/exec", "/other"));
    await once(resetting, "data");
    // The socket has unread bytes, so the operating system responds to further data with a reset.
    resetting.destroy();
    while (server.listener.openConnections() > 0) await new Promise(setImmediate);
    expect(server.listener.openRequests()).toBe(0);
    expect(server.logged).toEqual(["sending a response failed"]);
  });
});

import { duplexPair } from "node:stream";
import type { TLSSocket } from "node:tls";

import { describe, expect, test } from "vitest";

import type { ResponseBody } from "../../message.ts";
import type { UpstreamRequest, UpstreamResponse } from "../../upstream.ts";
import { directDial } from "./dial.ts";
import {
  respondingWith,
  closing,
  getRequest,
  leafOf,
  ok,
  onRequest,
  outcomeOf,
  rawServer,
  SERVER_NAME,
  testCertificates,
  TestSink,
  testUpstream,
} from "../../../../../test/testing/serving/http/node/test-upstream.ts";

const CERTIFICATES = testCertificates();
const { tls: TLS } = CERTIFICATES;
const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

describe("requests to a peer", () => {
  test("are sent as given, with a Host header and without hop-by-hop headers", async () => {
    const heads: string[] = [];
    await using server = await rawServer(
      CERTIFICATES,
      onRequest((socket, head) => {
        heads.push(head);
        socket.write(ok("{}", "Content-Type: application/json"));
      }),
    );
    await using upstream = testUpstream(TLS);
    const headers = ["X-Remote-User", "jane", "X-Remote-User", "j\xe4ne", "Connection", "close", "Upgrade", "h2c"];
    const more = ["Host", "evil", "Transfer-Encoding", "chunked", "content-length", "7", "Expect", "100-continue"];
    const request = getRequest(server.address, { target: "/api?a=%20", headers: [...headers, ...more] });
    const response = await upstream.send(request);
    expect(response).toEqual({
      status: 200,
      headers: ["content-type", "application/json"],
      body: { kind: "bytes", chunks: [Buffer.from("{}")] },
    });
    const { host, port } = server.address;
    expect(heads).toEqual([
      `GET /api?a=%20 HTTP/1.1\r\nHost: ${host}:${port}\r\nX-Remote-User: jane\r\nX-Remote-User: j\xe4ne`,
    ]);
    await upstream.send(getRequest(server.address, { method: "POST" }));
    expect(heads[1]).toContain("\r\nContent-Length: 0");
  });

  test("whose method, target, headers or length cannot be sent safely are rejected before they are sent", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("")));
    await using upstream = testUpstream(TLS);
    const bad: Partial<UpstreamRequest>[] = [
      { headers: ["X-A", "b\r\nX-Remote-User: admin"] },
      { headers: ["X-A", "b\nX"] },
      { headers: ["X-A", "b\0"] },
      { headers: ["X-A", "b\u010d\u010aX-Remote-User: admin"] },
      { headers: ["X A", "b"] },
      { headers: ["X-A:", "b"] },
      { headers: ["", "b"] },
      { headers: ["X-A"] },
      { target: "/a b" },
      { target: "/a\r\nX: y" },
      { target: "/\u0120" },
      { target: "http://other/" },
      { target: "" },
      { method: "GET / HTTP/1.1\r\n" },
      { method: "CONNECT" },
      { body: pieces("x"), contentLength: -1 },
      { body: pieces("x"), contentLength: 0.5 },
    ];
    for (const changes of bad) {
      await expect(upstream.send(getRequest(server.address, changes))).rejects.toMatchObject({
        failure: "malformed",
        isSent: false,
      });
    }
    expect(server.connections).toEqual([]);
  });

  test("with a body of known length send it unchanged, and other bodies in chunks", async () => {
    const received: Buffer[] = [];
    await using server = await rawServer(CERTIFICATES, (socket) => {
      socket.on("data", (bytes: Buffer) => {
        received.push(bytes);
        const text = Buffer.concat(received).toString("latin1");
        if (text.endsWith("helloworld") || text.endsWith("\r\n0\r\n\r\n")) socket.write(ok(""));
      });
    });
    await using upstream = testUpstream(TLS);
    const body = pieces("hello", "", "world");
    await upstream.send(getRequest(server.address, { method: "PUT", body, contentLength: 10 }));
    expect(bodyOf(received)).toBe("helloworld");
    expect(received).toHaveLength(2);
    received.length = 0;
    await upstream.send(getRequest(server.address, { method: "PUT", body: pieces("hello", "", "world") }));
    expect(bodyOf(received)).toBe("5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n");
    expect(server.connections).toHaveLength(1);
  });

  test("are broken off if their body fails or does not have the announced length", async () => {
    const seen = Promise.withResolvers<void>();
    await using server = await rawServer(CERTIFICATES, (socket) => socket.on("data", () => seen.resolve()));
    await using upstream = testUpstream(TLS);
    async function* failing(): AsyncGenerator<Buffer> {
      yield Buffer.from("a");
      await seen.promise;
      throw new Error("the client has gone");
    }
    const bodies: Partial<UpstreamRequest>[] = [
      { body: failing() },
      { body: pieces("abc"), contentLength: 2 },
      { body: pieces("abc"), contentLength: 4 },
    ];
    for (const changes of bodies) {
      const sent = upstream.send(getRequest(server.address, { method: "POST", ...changes }));
      await expect(sent).rejects.toMatchObject({ failure: "aborted", isSent: true });
    }
    const [socket] = server.connections;
    await closing(socket!);
  });

  test("return the response of a server that does not read their body, and stop sending the body", async () => {
    await using server = await rawServer(CERTIFICATES, (socket) => {
      socket.once("data", () => {
        socket.pause();
        socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
      });
    });
    await using upstream = testUpstream(TLS);
    let isReturned = false;
    async function* endless(): AsyncGenerator<Buffer> {
      try {
        for (;;) yield Buffer.alloc(256 * 1024);
      } finally {
        isReturned = true;
      }
    }
    const response = await upstream.send(getRequest(server.address, { method: "POST", body: endless() }));
    expect(await outcomeOf(response)).toMatchObject({ status: 413, body: "no" });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isReturned).toBe(true);
    await upstream.send(getRequest(server.address, { method: "POST", body: pieces("x") }));
    expect(server.connections).toHaveLength(2);
  });

  test("return a response even if the first piece of their body is late", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"));
    await using upstream = testUpstream(TLS);
    const body: AsyncIterable<Buffer> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
    };
    expect(await upstream.send(getRequest(server.address, { method: "POST", body }))).toMatchObject({ status: 403 });
  });
});

describe("connections to a peer", () => {
  test("are reused, the most recently used first, unless unexpected data has arrived on them", async () => {
    const used: TLSSocket[] = [];
    await using server = await rawServer(
      CERTIFICATES,
      onRequest((socket) => {
        used.push(socket);
        socket.write(ok("x"));
      }),
    );
    await using upstream = testUpstream(TLS);
    const send = (): Promise<UpstreamResponse> => upstream.send(getRequest(server.address));
    await Promise.all([send(), send()]);
    expect(server.connections).toHaveLength(2);
    await send();
    await send();
    expect(server.connections).toHaveLength(2);
    expect(used[3]).toBe(used[2]);
    for (const socket of server.connections) {
      socket.write("HTTP/1.1 408 Request Timeout\r\n\r\n");
      await closing(socket);
    }
    await send();
    expect(server.connections).toHaveLength(3);
    server.connections[2]!.end();
    await closing(server.connections[2]!);
    expect(await send()).toMatchObject({ status: 200 });
  });

  test("are not reused if the server announces to close them or has sent more than its response", async () => {
    const responses = [
      ok("x", "Connection: close"),
      `${ok("x")}HTTP/1.1 200 OK\r\n`,
      ok("x", "Keep-Alive: timeout=1"),
      "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    ];
    for (const response of responses) {
      await using server = await rawServer(CERTIFICATES, respondingWith(response));
      await using upstream = testUpstream(TLS);
      await upstream.send(getRequest(server.address));
      const [socket] = server.connections;
      socket!.resume();
      await closing(socket!);
    }
  });

  test("are closed when too many are idle, or when one is idle for too long", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("x")));
    await using upstream = testUpstream(TLS, { limits: { idlePerTargetMax: 1, idleTimeoutMs: 40 } });
    await Promise.all([1, 2, 3].map(() => upstream.send(getRequest(server.address))));
    const closes = server.connections.map((socket) => closing(socket));
    expect(closes).toHaveLength(3);
    await Promise.all(closes);
    await upstream.send(getRequest(server.address));
    expect(server.connections).toHaveLength(4);
  });

  test("above the limit are rejected, unless an idle connection can be closed", async () => {
    await using idle = await rawServer(CERTIFICATES, respondingWith(ok("x")));
    await using busy = await rawServer(CERTIFICATES, () => undefined);
    await using upstream = testUpstream(TLS, { limits: { connectionsMax: 1 } });
    await upstream.send(getRequest(idle.address));
    const pending = upstream.send(getRequest(busy.address)).catch((error: unknown) => error);
    await closing(idle.connections[0]!);
    await expect(upstream.send(getRequest(idle.address))).rejects.toMatchObject({
      failure: "exhausted",
      isSent: false,
    });
    upstream.disconnect(busy.address);
    expect(await pending).toMatchObject({ failure: "reset" });
  });

  test("made with another client certificate are not reused", async () => {
    const other = testCertificates();
    let tls = TLS;
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("x")));
    await using upstream = testUpstream(TLS, { tls: () => tls });
    await upstream.send(getRequest(server.address));
    tls = { ...TLS };
    await upstream.send(getRequest(server.address));
    expect(server.connections).toHaveLength(2);
    tls = other.tls;
    await expect(upstream.send(getRequest(server.address))).rejects.toMatchObject({ failure: "tls", isSent: false });
    tls = TLS;
    expect(await upstream.send(getRequest(server.address))).toMatchObject({ status: 200 });
  });

  test("are made only to a server whose certificate has the right name and CA, and that accepts this server's certificate", async () => {
    const other = testCertificates();
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("x")));
    const broken = [
      testUpstream(TLS, { serverName: "other.example" }),
      testUpstream({ ...TLS, ca: other.tls.ca }),
      testUpstream({ ...TLS, ca: leafOf(other.server) }),
      testUpstream({ ...TLS, ca: "" }),
      testUpstream({ ...TLS, key: other.tls.key }),
      testUpstream(TLS, {
        tls: () => {
          throw new Error("the file is gone");
        },
      }),
    ];
    for (const upstream of broken) {
      await expect(upstream.send(getRequest(server.address))).rejects.toMatchObject({ failure: "tls", isSent: false });
      await upstream.close();
    }
    // Node's servers reject a certificate by closing the connection. With TLS 1.3 this happens after the client has
    // finished its handshake.
    await using unknown = testUpstream({ ...other.tls, ca: TLS.ca });
    await expect(unknown.send(getRequest(server.address))).rejects.toMatchObject({ failure: "reset" });
    await using old = await rawServer(CERTIFICATES, respondingWith(ok("x")), { maxVersion: "TLSv1.2" });
    await expect(unknown.send(getRequest(old.address))).rejects.toMatchObject({ failure: "reset", isSent: false });
    for (const ca of [TLS.ca, leafOf(CERTIFICATES.server)]) {
      await using ours = testUpstream({ ...TLS, ca });
      expect(await ours.send(getRequest(old.address))).toMatchObject({ status: 200 });
    }
  });

  test("send the server name, not the address, as SNI", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("x")));
    await using upstream = testUpstream(TLS);
    await upstream.send(getRequest(server.address));
    const [socket] = server.connections;
    expect((socket as TLSSocket & { servername: string }).servername).toBe(SERVER_NAME);
    expect(socket!.alpnProtocol).toBe("http/1.1");
  });

  test("that cannot be made or time out report the request as not sent", async () => {
    await using server = await rawServer(CERTIFICATES, () => undefined);
    const { address } = server;
    await server[Symbol.asyncDispose]();
    await using rejected = testUpstream(TLS);
    await expect(rejected.send(getRequest(address))).rejects.toMatchObject({ failure: "connect", isSent: false });
    await using late = testUpstream(TLS, {
      dial: () => new Promise(() => undefined),
      limits: { connectTimeoutMs: 20 },
    });
    await expect(late.send(getRequest(address))).rejects.toMatchObject({ failure: "timeout", isSent: false });
  });
});

describe("responses of a peer", () => {
  test("arrive over any byte stream that a dialer returns", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("y".repeat(100_000))));
    const direct = directDial(1_000);
    await using upstream = testUpstream(TLS, {
      async dial(...arguments_) {
        const [near, far] = duplexPair();
        const socket = await direct(...arguments_);
        socket.pipe(far).pipe(socket);
        return near;
      },
    });
    const response = await upstream.send(getRequest(server.address));
    expect(await outcomeOf(response)).toMatchObject({ kind: "complete", body: "y".repeat(100_000) });
  });

  test("are returned as bytes if they are small or have arrived completely, and otherwise as streams", async () => {
    const body = "x".repeat(60_000);
    const responses: [string, ResponseBody["kind"]][] = [
      [ok(body), "bytes"],
      [`${CHUNKED}3\r\nabc\r\n0\r\n\r\n`, "bytes"],
      [ok(""), "none"],
      ["HTTP/1.1 204 No Content\r\n\r\n", "none"],
      [ok("y".repeat(100_000)), "stream"],
    ];
    for (const [answer, kind] of responses) {
      await using server = await rawServer(CERTIFICATES, respondingWith(answer));
      await using upstream = testUpstream(TLS);
      const response = await upstream.send(getRequest(server.address));
      expect(response.body.kind).toBe(kind);
      const sent = answer.startsWith(CHUNKED) ? "abc" : answer.slice(answer.indexOf("\r\n\r\n") + 4);
      expect(await outcomeOf(response)).toMatchObject({ kind: "complete", body: sent });
      await upstream.send(getRequest(server.address, { method: "HEAD" })).catch(() => undefined);
    }
  });

  test("are streamed as they arrive, and their connection is reused after the end", async () => {
    const sockets: TLSSocket[] = [];
    await using server = await rawServer(
      CERTIFICATES,
      onRequest((socket) => {
        sockets.push(socket);
        socket.write(`${CHUNKED}5\r\nfirst\r\n`);
      }),
    );
    await using upstream = testUpstream(TLS);
    const response = await upstream.send(getRequest(server.address));
    const outcome = outcomeOf(response);
    sockets[0]!.write("6\r\nsecond\r\n0\r\n\r\n");
    expect(await outcome).toEqual({ kind: "complete", status: 200, body: "firstsecond" });
    const next = await upstream.send(getRequest(server.address));
    expect(sockets[1]).toBe(sockets[0]);
    sockets[1]!.destroy();
    expect(await outcomeOf(next)).toMatchObject({ kind: "aborted" });
  });

  test("are not read from the server while their reader is full", async () => {
    const size = 8 * 1024 * 1024;
    let server!: TLSSocket;
    await using raw = await rawServer(
      CERTIFICATES,
      onRequest((socket) => {
        server = socket;
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
        socket.write(Buffer.alloc(size, "x"));
      }),
    );
    await using upstream = testUpstream(TLS);
    const { body } = await upstream.send(getRequest(raw.address));
    if (body.kind !== "stream") throw new Error("not a stream");
    const over = Promise.withResolvers<string>();
    const sink = new TestSink((kind) => over.resolve(kind));
    sink.isFull = true;
    body.open(sink);
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(sink.text.length).toBeLessThan(200_000);
    expect(server.writableLength).toBeGreaterThan(0);
    sink.drain();
    expect(await over.promise).toBe("complete");
    expect(sink.text).toBe("x".repeat(size));
  });

  test("are dropped with their connection when the reader disconnects", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(CHUNKED));
    await using upstream = testUpstream(TLS);
    const { body } = await upstream.send(getRequest(server.address));
    if (body.kind !== "stream") throw new Error("not a stream");
    const sink = new TestSink();
    body.open(sink);
    sink.leave();
    await closing(server.connections[0]!);
  });

  test("that are malformed fail the request or abort the stream, and close the connection", async () => {
    await using server = await rawServer(
      CERTIFICATES,
      respondingWith("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
    );
    await using upstream = testUpstream(TLS);
    const sent = upstream.send(getRequest(server.address));
    await expect(sent).rejects.toMatchObject({ failure: "malformed", isSent: true });
    await closing(server.connections[0]!);
    await using late = await rawServer(CERTIFICATES, respondingWith(`${CHUNKED}2\r\nab\r\n`, "zz\r\n"));
    expect(await outcomeOf(await upstream.send(getRequest(late.address)))).toMatchObject({ kind: "aborted" });
  });

  test("with an error status and without a length end with their connection", async () => {
    await using server = await rawServer(
      CERTIFICATES,
      onRequest((socket) => socket.end("HTTP/1.1 431 Too Large\r\nConnection: close\r\n\r\ntoo large")),
    );
    await using upstream = testUpstream(TLS);
    const response = await upstream.send(getRequest(server.address));
    expect(await outcomeOf(response)).toEqual({ kind: "complete", status: 431, body: "too large" });
  });
});

describe("ending requests to a peer", () => {
  test("by the signal before the connection is made leaves no connection", async () => {
    await using server = await rawServer(CERTIFICATES, () => undefined);
    await using upstream = testUpstream(TLS);
    const aborted = getRequest(server.address, { signal: AbortSignal.abort() });
    await expect(upstream.send(aborted)).rejects.toMatchObject({ failure: "aborted", isSent: false });
    const controller = new AbortController();
    const sent = upstream.send(getRequest(server.address, { signal: controller.signal }));
    controller.abort(new Error("deadline"));
    await expect(sent).rejects.toMatchObject({ failure: "aborted", isSent: false, cause: new Error("deadline") });
    expect(server.connections).toEqual([]);
  });

  test("by the signal before or during the response closes the connection", async () => {
    const seen = Promise.withResolvers<void>();
    await using silent = await rawServer(
      CERTIFICATES,
      onRequest(() => seen.resolve()),
    );
    await using upstream = testUpstream(TLS);
    const waiting = new AbortController();
    const sent = upstream.send(getRequest(silent.address, { signal: waiting.signal }));
    await seen.promise;
    waiting.abort();
    await expect(sent).rejects.toMatchObject({ failure: "aborted", isSent: true });
    await closing(silent.connections[0]!);

    await using streaming = await rawServer(CERTIFICATES, respondingWith(CHUNKED));
    const reading = new AbortController();
    const response = await upstream.send(getRequest(streaming.address, { signal: reading.signal }));
    const outcome = outcomeOf(response);
    reading.abort();
    expect(await outcome).toMatchObject({ kind: "aborted" });
    await closing(streaming.connections[0]!);
  });

  test("by disconnect breaks off all requests to the address, and no requests to other addresses", async () => {
    await using server = await rawServer(
      CERTIFICATES,
      onRequest((socket, head) => void (head.includes("/stream") && socket.write(CHUNKED))),
    );
    await using other = await rawServer(CERTIFICATES, respondingWith(ok("x")));
    const direct = directDial(1_000);
    let dials = 0;
    // The third connection is never made.
    await using upstream = testUpstream(TLS, {
      dial: (...arguments_) => (++dials === 3 ? new Promise(() => undefined) : direct(...arguments_)),
    });
    const stream = outcomeOf(await upstream.send(getRequest(server.address, { target: "/stream" })));
    const requestSeen = new Promise((resolve) => server.connections[0]!.once("close", resolve));
    const waiting = upstream.send(getRequest(server.address));
    while (server.connections.length < 2) await new Promise((resolve) => setImmediate(resolve));
    const connecting = upstream.send(getRequest(server.address));
    await upstream.send(getRequest(other.address));
    upstream.disconnect(server.address);
    await expect(waiting).rejects.toMatchObject({ failure: "reset", isSent: true });
    await expect(connecting).rejects.toMatchObject({ failure: "reset", isSent: false });
    expect(await stream).toMatchObject({ kind: "aborted" });
    await requestSeen;
    expect(await upstream.send(getRequest(other.address))).toMatchObject({ status: 200 });
    expect(other.connections).toHaveLength(1);
  });

  test("by close fails open requests and rejects new requests", async () => {
    await using server = await rawServer(CERTIFICATES, () => undefined);
    const upstream = testUpstream(TLS);
    const sent = upstream.send(getRequest(server.address)).catch((error: unknown) => error);
    await upstream.close();
    expect(await sent).toMatchObject({ failure: "reset", isSent: false });
    await expect(upstream.send(getRequest(server.address))).rejects.toMatchObject({ isSent: false });
    await upstream.close();
  });
});

async function* pieces(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

function bodyOf(received: readonly Buffer[]): string {
  const text = Buffer.concat(received).toString("latin1");
  return text.slice(text.indexOf("\r\n\r\n") + 4);
}

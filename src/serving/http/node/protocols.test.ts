/** Tests the behavior that HTTP/1.1 and HTTP/2 share. */
import { once } from "node:events";
import type { Writable } from "node:stream";
import { gunzipSync } from "node:zlib";

import { describe, expect, test } from "vitest";

import { type ApiRequest, BodyTooLargeError, bytesBody, NO_BODY } from "../message.ts";
import {
  type Client,
  collect,
  deferred,
  http1Client,
  http2Client,
  ok,
  startServer,
  streaming,
  type TestServer,
} from "../../../../test/testing/serving/http/node/test-server.ts";

const clients: [string, (server: TestServer) => Client][] = [
  ["HTTP/1.1", http1Client],
  ["HTTP/2", http2Client],
];

const LARGE = Array.from({ length: 100 }, (_, index) => Buffer.alloc(2_000, `item ${index} `));

const UPLOAD_BYTES = 60_000_000;

/** Writes as fast as the server reads. `bytes` is the number of bytes written so far. */
function sendUpload(stream: Writable): { bytes: number; readonly done: Promise<void> } {
  const piece = Buffer.alloc(100_000);
  const progress = { bytes: 0, done: Promise.resolve() };
  progress.done = (async () => {
    while (progress.bytes < UPLOAD_BYTES) {
      progress.bytes += piece.length;
      if (!stream.write(piece)) await once(stream, "drain");
    }
    stream.end();
  })();
  return progress;
}

async function leaveAtFirst(pieces: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of pieces) return;
}

function pairsOf(rawHeaders: readonly string[]): [string, string][] {
  return rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1]!]] : []));
}

describe.each(clients)("%s:", (name, connect) => {
  test("a request has path and query apart, headers in lower case and its connection info", async () => {
    let seen: ApiRequest | undefined;
    await using server = await startServer(async (request) => {
      seen = request;
      return ok(Buffer.from("{}"));
    });
    await using client = connect(server);
    const response = await client.ask({ path: "/api/v1/x%2Fy?watch=1&a=?", headers: { "X-Test": "Yes" } });
    expect(response).toMatchObject({ status: 200, headers: { "content-length": "2" } });
    expect(seen).toMatchObject({ method: "GET", path: "/api/v1/x%2Fy", rawQuery: "watch=1&a=?" });
    expect(seen?.headers["x-test"]).toBe("Yes");
    expect(seen?.headers["host"]).toBe(`127.0.0.1:${server.listener.port}`);
    expect(Object.keys(seen!.headers).filter((key) => key.startsWith(":"))).toEqual([]);
    expect(seen?.connection).toEqual({
      protocol: name === "HTTP/2" ? "h2" : "http/1.1",
      remoteAddress: "127.0.0.1",
      clientChain: [],
    });
    expect(await seen!.body.read(10)).toHaveLength(0);
    expect(seen!.signal.aborted).toBe(false);
  });

  test("rawHeaders contains the headers as sent", async () => {
    let seen: ApiRequest | undefined;
    await using server = await startServer(async (request) => ((seen = request), ok()));
    await using client = connect(server);
    await client.ask({ path: "/", headers: { "X-Test": "Yes", "X-Many": ["1", "2"] } });
    const pairs = pairsOf(seen!.rawHeaders!);
    expect(pairs).toContainEqual(["x-test", "Yes"]);
    expect(pairs.filter(([key]) => key === "x-many")).toEqual([
      ["x-many", "1"],
      ["x-many", "2"],
    ]);
    expect(pairs.filter(([key]) => key === "host")).toEqual([["host", `127.0.0.1:${server.listener.port}`]]);
    expect(pairs.filter(([key]) => key.startsWith(":"))).toEqual([]);
  });

  test("a body can be read piece by piece, but only once", async () => {
    const body = Buffer.alloc(3_000_000, "abc");
    await using server = await startServer(async (request) => {
      const pieces = request.body.stream();
      expect(() => request.body.stream()).toThrow("only once");
      await expect(request.body.read(10)).rejects.toThrow("only once");
      const received = await collect(pieces);
      return ok(Buffer.from(`${request.body.isEmpty} ${received.equals(body)}`));
    });
    await using client = connect(server);
    expect((await client.ask({ method: "POST", path: "/", body })).body.toString()).toBe("false true");
  });

  test("a request without a body has isEmpty set and yields no pieces", async () => {
    await using server = await startServer(async ({ body }) => {
      const received = await collect(body.stream());
      return ok(Buffer.from(`${body.isEmpty} ${received.length}`));
    });
    await using client = connect(server);
    expect((await client.ask({ path: "/" })).body.toString()).toBe("true 0");
  });

  test("the body is not read before its handler reads it", async () => {
    const [began, goOn] = [deferred(), deferred()];
    let received = 0;
    await using server = await startServer(async (request) => {
      for await (const piece of request.body.stream()) {
        received += piece.length;
        began.resolve();
        await goOn.promise;
      }
      return ok();
    });
    await using client = connect(server);
    await using other = connect(server);
    const { stream, answer } = client.upload("/");
    const sending = sendUpload(stream);
    await began.promise;
    for (let before = -1; before !== sending.bytes;) {
      before = sending.bytes;
      for (let round = 0; round < 5; round++) await other.ask({ path: "/" });
    }
    expect(sending.bytes).toBeLessThan(UPLOAD_BYTES / 2);
    expect(received).toBeLessThan(500_000);
    goOn.resolve();
    await sending.done;
    expect((await answer).status).toBe(200);
    expect(received).toBe(UPLOAD_BYTES);
  });

  test.each([
    ["at the first piece", leaveAtFirst],
    [
      "before any piece",
      async (pieces: AsyncIterable<Buffer>) => void (await pieces[Symbol.asyncIterator]().return?.()),
    ],
    [
      "without calling return",
      async (pieces: AsyncIterable<Buffer>) => void (await pieces[Symbol.asyncIterator]().next()),
    ],
    ["without having begun", async () => undefined],
  ])("a handler that stops reading a body %s can respond, and the connection is reused", async (_, leave) => {
    await using server = await startServer(async (request) => {
      await leave(request.body.stream());
      return ok(Buffer.from("left"));
    });
    await using client = connect(server);
    const ports = new Set<number | undefined>();
    for (let round = 0; round < 2; round++) {
      const response = await client.ask({ method: "POST", path: "/", body: Buffer.alloc(2_000_000) });
      expect([response.status, response.body.toString()]).toEqual([200, "left"]);
      ports.add(response.localPort);
    }
    expect(ports.size).toBe(1);
  });

  test("a handler can stop reading while it waits for the next piece of a body", async () => {
    await using server = await startServer(
      async (request) => {
        const pieces = request.body.stream()[Symbol.asyncIterator]();
        const waiting = pieces.next();
        await pieces.return?.();
        return ok(Buffer.from(JSON.stringify([await waiting, await pieces.next()])));
      },
      { limits: { unreadBodyMs: 20 } },
    );
    await using client = connect(server);
    const { answer } = client.upload("/");
    expect((await answer).body.toString()).toBe('[{"done":true},{"done":true}]');
  });

  test.each([
    ["streams the body", async ({ body }: ApiRequest) => void (await collect(body.stream()))],
    ["reads the body", async ({ body }: ApiRequest) => void (await body.read(100))],
  ])("if the client disconnects, a handler that %s fails", async (_, readAll) => {
    const failed = deferred<string>();
    await using server = await startServer(async (request) => {
      failed.resolve(await readAll(request).then(String, (thrown: unknown) => (thrown as Error).message));
      return ok();
    });
    await using client = connect(server);
    const { stream, answer } = client.upload("/");
    answer.catch(() => undefined);
    stream.write("abc");
    while (server.listener.openRequests() === 0) await new Promise(setImmediate);
    stream.destroy();
    expect(await failed.promise).toBe("the client disconnected before its request was complete");
  });

  test("bodies of every size arrive unchanged", async () => {
    const bodies: Buffer[][] = [
      [],
      [Buffer.from("a"), Buffer.from("b")],
      LARGE,
      [Buffer.alloc(3_000_000, "x"), Buffer.from("end")],
    ];
    await using server = await startServer(async (request) => ok(...bodies[Number(request.path.slice(1))]!));
    await using client = connect(server);
    for (const [index, chunks] of bodies.entries()) {
      const response = await client.ask({ path: `/${index}` });
      const whole = Buffer.concat(chunks);
      expect(response.headers["content-length"]).toBe(String(whole.length));
      expect(response.body.equals(whole)).toBe(true);
    }
  });

  test("HEAD returns the headers of GET and no body", async () => {
    await using server = await startServer(async () => ok(...LARGE));
    await using client = connect(server);
    for (const _ of [1, 2]) {
      const response = await client.ask({ method: "HEAD", path: "/", headers: { "accept-encoding": "gzip" } });
      expect(response).toMatchObject({ status: 200, headers: { "content-length": "200000" } });
      expect(response.body).toHaveLength(0);
    }
  });

  test("a response without a body has content-length 0, except with status 204 or 304", async () => {
    await using server = await startServer(async (request) => ({
      status: Number(request.path.slice(1)),
      headers: {},
      body: NO_BODY,
    }));
    await using client = connect(server);
    expect((await client.ask({ path: "/200" })).headers["content-length"]).toBe("0");
    expect((await client.ask({ path: "/204" })).headers["content-length"]).toBeUndefined();
    expect((await client.ask({ path: "/304" })).headers["content-length"]).toBeUndefined();
  });

  test("the transport replaces framing headers that the handler has set", async () => {
    const headers = {
      "content-length": "999",
      "transfer-encoding": "chunked",
      connection: "keep-alive",
      "x-kept": "1",
    };
    await using server = await startServer(async () => ({ status: 200, headers, body: bytesBody(Buffer.from("abc")) }));
    await using client = connect(server);
    for (const _ of [1, 2]) {
      const response = await client.ask({ path: "/" });
      expect(response.headers).toMatchObject({ "content-length": "3", "x-kept": "1" });
      expect(response.body.toString()).toBe("abc");
    }
  });

  test.each([
    ["announced", { "content-length": "6" }],
    ["not announced", {}],
  ])("a body whose length is %s is read up to the limit, and a longer one is rejected", async (_, headers) => {
    await using server = await startServer(async (request) => {
      try {
        return ok(await request.body.read(Number(request.path.slice(1))));
      } catch (error) {
        expect(error).toBeInstanceOf(BodyTooLargeError);
        return { status: 413, headers: {}, body: NO_BODY };
      }
    });
    await using client = connect(server);
    const body = Buffer.from("abcdef");
    const isChunked = name === "HTTP/1.1" && !("content-length" in headers);
    const sent = {
      method: "POST",
      headers: { ...headers, ...(isChunked && { "transfer-encoding": "chunked" }) },
      body,
    };
    expect((await client.ask({ path: "/6", ...sent })).body.toString()).toBe("abcdef");
    expect((await client.ask({ path: "/5", ...sent })).status).toBe(413);
    expect((await client.ask({ path: "/7", ...sent })).body.toString()).toBe("abcdef");
  });

  test("a large unread body does not block the next request", async () => {
    await using server = await startServer(async () => ({ status: 403, headers: {}, body: NO_BODY }));
    await using client = connect(server);
    for (const _ of [1, 2]) {
      const response = await client.ask({ method: "POST", path: "/", body: Buffer.alloc(2_000_000) });
      expect(response.status).toBe(403);
    }
  });

  test("a large body is compressed if the client accepts gzip", async () => {
    await using server = await startServer(async (request) => {
      const response = ok(...(request.path === "/small" ? [Buffer.alloc(1_000)] : LARGE));
      return { ...response, headers: { ...response.headers, vary: "Origin" } };
    });
    await using client = connect(server);
    const accepted = await client.ask({ path: "/", headers: { "accept-encoding": "deflate, gzip;q=0.5" } });
    expect(accepted.headers).toMatchObject({ "content-encoding": "gzip", vary: "Origin, Accept-Encoding" });
    expect(accepted.headers["content-length"]).toBeUndefined();
    expect(gunzipSync(accepted.body).equals(Buffer.concat(LARGE))).toBe(true);
    for (const [path, encoding] of [
      ["/small", "gzip"],
      ["/", "gzip;q=0"],
      ["/", "br"],
    ] as const) {
      const plain = await client.ask({ path, headers: { "accept-encoding": encoding } });
      expect(plain.headers["content-encoding"]).toBeUndefined();
      expect(plain.headers["vary"]).toBe("Origin");
    }
  });

  test("the connection is reused after a stream has ended", async () => {
    await using server = await startServer(async () =>
      streaming((sink) => {
        for (const text of ["one,", "", "two,", "three"]) sink.write({ bytes: Buffer.from(text) });
        sink.end();
        sink.write({ bytes: Buffer.from("late") });
        sink.end();
      }),
    );
    await using client = connect(server);
    const ports = new Set<number | undefined>();
    for (const _ of [1, 2, 3]) {
      const response = await client.ask({ path: "/" });
      expect(response.body.toString()).toBe("one,two,three");
      ports.add(response.localPort);
    }
    expect(ports.size).toBe(1);
    expect(server.listener.openRequests()).toBe(0);
    expect(server.listener.openConnections()).toBe(1);
  });

  test("onClose of a stream is called exactly once when it ends", async () => {
    let closed = 0;
    const both = deferred();
    await using server = await startServer(async () =>
      streaming((sink) => {
        sink.onClose(() => closed++);
        sink.onClose(() => both.resolve());
        sink.end();
      }),
    );
    await using client = connect(server);
    await client.ask({ path: "/" });
    await both.promise;
    await client.ask({ path: "/" });
    expect(closed).toBe(2);
  });

  test("an aborted stream does not look complete to the client", async () => {
    let closed = 0;
    await using server = await startServer(async () =>
      streaming((sink) => {
        sink.onClose(() => closed++);
        sink.write({ bytes: Buffer.from("x") });
        setImmediate(() => sink.abort());
      }),
    );
    await using client = connect(server);
    await expect(client.ask({ path: "/" })).rejects.toThrow();
    expect(closed).toBe(1);
  });

  test("HEAD of a stream returns the headers, and the stream is opened with a closed sink", async () => {
    const closed = deferred();
    await using server = await startServer(async () =>
      streaming((sink) => {
        sink.write({ bytes: Buffer.from("unseen") });
        sink.onClose(() => closed.resolve());
      }),
    );
    await using client = connect(server);
    expect((await client.ask({ method: "HEAD", path: "/" })).body).toHaveLength(0);
    await closed.promise;
  });

  test("a handler that throws causes a 500 and a log line", async () => {
    await using server = await startServer(() => Promise.reject(new Error("secret")));
    await using client = connect(server);
    const response = await client.ask({ path: "/" });
    expect(response.status).toBe(500);
    expect(response.body.toString()).toBe("Internal Server Error\n");
    expect(server.logged).toEqual(["request handler failed"]);
  });
});

/** Tests of clients that abuse HTTP/2. Each loses only its own connection. */
import { once } from "node:events";
import { constants, type ClientHttp2Stream } from "node:http2";
import { describe, expect, test } from "vitest";

import { BodyTooLargeError, type ApiRequest, type ApiResponse } from "../../src/serving/http/message.ts";
import {
  deferred,
  http2Client,
  http2Response,
  http2Session,
  ok,
  startServer,
  streaming,
} from "../testing/serving/http/node/test-server.ts";
import {
  connectionsLeft,
  END_HEADERS,
  END_STREAM,
  ERROR_CODE,
  FRAME,
  frame,
  GET_ROOT,
  INITIAL_WINDOW_SIZE,
  literal,
  POST_ROOT,
  RawHttp2,
  settings,
  uint32,
} from "./transport-frames.ts";

const WHOLE = END_HEADERS | END_STREAM;
const NOTHING_ON_STREAM = Buffer.alloc(0);

/** Opens streams 1, 3, 5, … in groups and writes the frames of `framesOf` for each. */
async function eachStream(raw: RawHttp2, count: number, framesOf: (streamId: number) => Buffer[]): Promise<void> {
  const group = 100;
  for (let first = 0; first < count; first += group) {
    const frames = Array.from({ length: group }, (_, index) => framesOf(1 + 2 * (first + index))).flat();
    await raw.pour(Buffer.concat(frames), 1);
  }
}

const repeated = (bytes: Buffer): Buffer => Buffer.concat(Array.from({ length: 100 }, () => bytes));
const get = (streamId: number): Buffer => frame(FRAME.headers, WHOLE, streamId, GET_ROOT);
const post = (streamId: number): Buffer => frame(FRAME.headers, END_HEADERS, streamId, POST_ROOT);
const openHeaders = frame(FRAME.headers, END_STREAM, 1, GET_ROOT);
const ping = frame(FRAME.ping, 0, 0, Buffer.alloc(8));

interface Attack {
  readonly name: string;
  run(raw: RawHttp2): Promise<void>;
  /** The maximum number of the attack's requests that the handler may receive. */
  readonly servedMax: number;
  readonly goaway?: number;
}

const headerBlock = Buffer.concat(Array.from({ length: 100 }, (_, index) => literal(`a${index}`, "x".repeat(100))));

const ATTACKS: readonly Attack[] = [
  {
    name: "opens streams and resets them at once",
    run: (raw) => eachStream(raw, 10_000, (id) => [get(id), frame(FRAME.reset, 0, id, uint32(ERROR_CODE.cancel))]),
    servedMax: 1_200,
  },
  {
    name: "causes resets by empty window updates",
    run: (raw) => eachStream(raw, 5_000, (id) => [post(id), frame(FRAME.windowUpdate, 0, id, uint32(0))]),
    servedMax: 200,
  },
  {
    name: "causes resets by too large windows",
    run: (raw) => eachStream(raw, 5_000, (id) => [get(id), frame(FRAME.windowUpdate, 0, id, uint32(0x7fff_ffff))]),
    servedMax: 200,
  },
  {
    name: "causes resets by data after the end of a stream",
    run: (raw) => eachStream(raw, 5_000, (id) => [get(id), frame(FRAME.data, 0, id, Buffer.from("x"))]),
    servedMax: 200,
  },
  {
    name: "opens more streams than allowed",
    run: (raw) => eachStream(raw, 5_000, (id) => [post(id)]),
    servedMax: 1_000,
  },
  {
    name: "sends invalid headers repeatedly",
    run: (raw) =>
      eachStream(raw, 5_000, (id) => [
        frame(FRAME.headers, WHOLE, id, Buffer.concat([GET_ROOT, literal("Upper", "x")])),
      ]),
    servedMax: 0,
  },
  {
    name: "continues its headers endlessly in small frames",
    run: (raw) => (raw.write(openHeaders), raw.pour(frame(FRAME.continuation, 0, 1, literal("a", "b")), 5_000)),
    servedMax: 0,
  },
  {
    name: "continues its headers endlessly in large frames",
    run: (raw) => (raw.write(openHeaders), raw.pour(frame(FRAME.continuation, 0, 1, headerBlock), 5_000)),
    servedMax: 0,
  },
  {
    name: "continues its headers endlessly in empty frames",
    run: (raw) => (raw.write(openHeaders), raw.pour(frame(FRAME.continuation, 0, 1, NOTHING_ON_STREAM), 5_000)),
    servedMax: 0,
  },
  {
    name: "sends a body of empty frames",
    run: (raw) => (raw.write(post(1)), raw.pour(repeated(frame(FRAME.data, 0, 1)), 300)),
    servedMax: 1,
  },
  {
    name: "changes its settings endlessly",
    run: (raw) => raw.pour(repeated(settings([INITIAL_WINDOW_SIZE, 65_535])), 300),
    servedMax: 0,
    goaway: ERROR_CODE.enhanceYourCalm,
  },
  {
    name: "changes hundreds of settings at once",
    run: async (raw) => raw.write(settings(...Array.from({ length: 200 }, () => [INITIAL_WINDOW_SIZE, 1] as const))),
    servedMax: 0,
    goaway: ERROR_CODE.enhanceYourCalm,
  },
  {
    name: "sends pings endlessly and reads the responses",
    run: (raw) => raw.pour(repeated(ping), 300),
    servedMax: 0,
    goaway: ERROR_CODE.enhanceYourCalm,
  },
  {
    name: "sends pings endlessly and reads nothing",
    run: async (raw) => {
      raw.socket.pause();
      await raw.pour(repeated(ping), 3_000);
      raw.socket.resume();
    },
    servedMax: 0,
  },
  {
    name: "changes stream priorities endlessly",
    run: (raw) => raw.pour(repeated(frame(FRAME.priority, 0, 1, Buffer.concat([uint32(0), Buffer.from([1])]))), 2_000),
    servedMax: 0,
    goaway: ERROR_CODE.enhanceYourCalm,
  },
];

/** Responds after a delay, as a handler that calls the store does. */
async function answer(request: ApiRequest): Promise<ApiResponse> {
  await new Promise(setImmediate);
  if (request.method !== "POST") return ok(Buffer.from("hello"));
  try {
    return ok(await request.body.read(1_000));
  } catch (thrown) {
    return { ...ok(), status: thrown instanceof BodyTooLargeError ? 413 : 400 };
  }
}

test.each(ATTACKS)(
  "a client that $name loses its connection, and other clients are served",
  async ({ run, servedMax, goaway }) => {
    let [ofAttacker, ofBystander] = [0, 0];
    await using server = await startServer((request) => {
      if (request.path === "/bystander") ofBystander++;
      else ofAttacker++;
      return answer(request);
    });
    await using bystander = http2Client(server);
    await bystander.ask({ path: "/bystander" });
    await using raw = await RawHttp2.connect(server);
    const attack = run(raw);
    expect((await bystander.ask({ path: "/bystander" })).status).toBe(200);
    await attack;
    await raw.closed();
    if (goaway !== undefined) expect(raw.goaway).toBe(goaway);
    expect((await bystander.ask({ path: "/bystander" })).status).toBe(200);
    expect(ofBystander).toBe(3);
    expect(ofAttacker).toBeLessThanOrEqual(servedMax);
    await connectionsLeft(server, 1);
    expect(server.listener.openRequests()).toBe(0);
    expect(server.logged).toEqual([]);
  },
);

describe("a client", () => {
  const limits = { idleConnectionMs: 40, stalledResponseMs: 20, headersTimeoutMs: 50, requestTimeoutMs: 50 };

  test.each([
    ["sends only the preface", []],
    ["sends incomplete headers", [openHeaders]],
  ])("that %s loses its connection", async (_, frames) => {
    await using server = await startServer(answer, { limits });
    await using raw = await RawHttp2.connect(server);
    raw.write(...frames);
    await raw.closed();
    await connectionsLeft(server, 0);
  });

  test("whose flow-control window is 0 loses its streams, and then its connection", async () => {
    await using server = await startServer(answer, { limits });
    await using raw = await RawHttp2.connect(server, settings([INITIAL_WINDOW_SIZE, 0]));
    await eachStream(raw, 100, (id) => [get(id)]);
    await raw.closed();
    expect(raw.dataBytes).toBe(0);
    expect(raw.count(FRAME.reset)).toBe(100);
    await connectionsLeft(server, 0);
    expect(server.listener.openRequests()).toBe(0);
  });

  test("that does not read the end of a stream loses the stream", async () => {
    const closed = deferred();
    await using server = await startServer(
      async () =>
        streaming((sink) => {
          sink.onClose(() => closed.resolve());
          sink.write({ bytes: Buffer.from("x") });
          sink.end();
        }),
      { limits },
    );
    await using raw = await RawHttp2.connect(server, settings([INITIAL_WINDOW_SIZE, 0]));
    raw.write(get(1));
    await closed.promise;
    expect(raw.dataBytes).toBe(0);
  });

  test("that never ends its request body gets 400", async () => {
    await using server = await startServer(answer, { limits });
    await using session = http2Session(server);
    const stream = session.request({ ":method": "POST", ":path": "/" });
    stream.write("abc");
    expect((await http2Response(stream)).status).toBe(400);
  });
});

describe("a request", () => {
  const body = frame(FRAME.data, END_STREAM, 1, Buffer.from("12345"));
  test.each([
    ["a length that does not match the body", literal("content-length", "3")],
    ["two lengths", Buffer.concat([literal("content-length", "5"), literal("content-length", "3")])],
    ["a transfer encoding", literal("transfer-encoding", "chunked")],
    ["a connection header", literal("connection", "x-remote-user")],
  ])("with %s is not served", async (_, header) => {
    const bodies: string[] = [];
    await using server = await startServer(async ({ body: sent }) => {
      bodies.push(await sent.read(10).then(String, () => "failed"));
      return ok();
    });
    await using raw = await RawHttp2.connect(server);
    raw.write(frame(FRAME.headers, END_HEADERS, 1, Buffer.concat([POST_ROOT, header])), body);
    while (raw.count(FRAME.reset) + raw.count(FRAME.goaway) === 0) await new Promise(setImmediate);
    expect(bodies.filter((text) => text !== "failed")).toEqual([]);
    expect(raw.count(FRAME.headers)).toBe(0);
  });

  test("with a body of 100 MB and without a content-length returns 413, and the server stops reading the body", async () => {
    const [piece, most] = [Buffer.alloc(64 * 1024, "x"), 100_000_000];
    await using server = await startServer(answer, { limits: { unreadBodyMs: 20 } });
    await using client = http2Client(server);
    const { stream, answer: answered } = client.upload("/");
    const closed = new Promise((resolve) => stream.once("close", resolve));
    let sent = 0;
    while (!stream.closed && sent < most) {
      sent += piece.length;
      if (!stream.write(piece)) await Promise.race([once(stream, "drain").catch(() => undefined), closed]);
    }
    expect((await answered).status).toBe(413);
    expect(sent).toBeLessThan(most);
    expect((await client.ask({ path: "/" })).status).toBe(200);
  });
});

describe("well-behaved clients are served:", () => {
  test("200 watches on one connection can be closed and reopened at once, four times", async () => {
    let open = 0;
    const changed = { check: () => undefined as void };
    await using server = await startServer(async () =>
      streaming((sink) => {
        open++;
        sink.onClose(() => {
          open--;
          changed.check();
        });
        sink.write({ bytes: Buffer.from("x") });
      }),
    );
    await using session = http2Session(server);
    for (let round = 0; round < 4; round++) {
      const watches = Array.from({ length: 200 }, (): ClientHttp2Stream => session.request({ ":path": "/" }));
      await Promise.all(watches.map((watch) => once(watch, "data")));
      expect(open).toBe(200);
      const allLeft = deferred();
      changed.check = () => void (open === 0 && allLeft.resolve());
      for (const watch of watches) watch.close(constants.NGHTTP2_CANCEL);
      await allLeft.promise;
    }
    expect([session.closed, server.listener.openRequests()]).toEqual([false, 0]);
  });

  test("50 pings in a row are accepted", async () => {
    await using server = await startServer(answer);
    await using session = http2Session(server);
    await once(session, "remoteSettings");
    for (let round = 0; round < 50; round++)
      await new Promise<void>((resolve, reject) => {
        session.ping((error) => (error === null ? resolve() : reject(error)));
      });
    expect(session.closed).toBe(false);
  });

  test("a header with spaces around its value is kept: without its impersonation header a request would run as the original user", async () => {
    const seen: (string | string[] | undefined)[] = [];
    await using server = await startServer(async ({ headers }) => {
      seen.push(headers["impersonate-user"]);
      return ok();
    });
    await using raw = await RawHttp2.connect(server);
    const impersonate = literal("impersonate-user", " jane ");
    raw.write(frame(FRAME.headers, WHOLE, 1, Buffer.concat([GET_ROOT, impersonate])));
    while (raw.count(FRAME.headers) === 0) await new Promise(setImmediate);
    expect(seen).toEqual([" jane "]);
  });
});

/** Tests that a client can break only its own connection: the server process survives and serves all other clients. */
import { once } from "node:events";
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { configMap, CONFIG_MAPS, Tally, type Json } from "./client.ts";
import { startEvenkeel, type Evenkeel } from "./start-evenkeel.ts";

const MIB = 1024 * 1024;
const CONNECTIONS = 2_000;
const CONNECTIONS_AT_ONCE = 100;
/** One of this many connections completes the TLS handshake. */
const HANDSHAKE_EVERY = 5;
const HTTP2_WATCHES = 200;
const SECRETS = "/api/v1/namespaces/default/secrets";

describe("hostile clients", { timeout: 60_000 }, () => {
  let server: Evenkeel;
  beforeAll(async () => {
    server = await startEvenkeel();
  });
  beforeEach(() => expectReady(server));
  afterAll(() => server[Symbol.asyncDispose]());

  test("that send bytes other than TLS are disconnected", async () => {
    const garbage = [
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "\0".repeat(5_000),
      "\x16\x03\x01\xff\xff" + "x".repeat(70_000),
      "SSH-2.0-x\r\n",
    ];
    await Promise.all(
      garbage.map(async (text) => {
        const socket = open(server);
        await once(socket, "connect");
        socket.end(Buffer.from(text, "latin1"));
        await closed(socket);
      }),
    );
  });

  test("that send bytes other than HTTP over TLS receive 400 or are disconnected, on both protocols", async () => {
    const twoLengths = `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`;
    const texts = [
      twoLengths,
      "nonsense\r\n\r\n",
      "\0\x01\x02\x03".repeat(500),
      "GET / HTTP/9.9\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\xff".repeat(500),
    ];
    for (const ALPNProtocols of [["http/1.1"], ["h2"]]) {
      for (const text of texts) {
        const socket = connectTls({ host: "127.0.0.1", port: server.port, ca: server.ca, ALPNProtocols });
        socket.on("error", () => {});
        let response = "";
        socket.on("data", (chunk: Buffer) => (response += chunk.toString("latin1")));
        await once(socket, "secureConnect");
        socket.write(Buffer.from(text, "latin1"));
        await closed(socket);
        if (ALPNProtocols[0] === "http/1.1") expect(response).toMatch(/^(HTTP\/1\.1 400 |$)/);
      }
    }
  });

  test("that stop during the handshake do not delay other clients", async () => {
    const hello = Buffer.from("160301020001", "hex");
    const halfOpen = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const socket = open(server);
        await once(socket, "connect");
        socket.write(hello);
        return socket;
      }),
    );
    expect((await server.request("GET", "/api/v1/namespaces/default")).status).toBe(200);
    for (const socket of halfOpen) socket.destroy();
  });

  test(`that open and close ${CONNECTIONS} connections are all accepted, and the server stays ready`, async () => {
    const outcomes = new Tally();
    let started = 0;
    const one = async (): Promise<void> => {
      while (started < CONNECTIONS) {
        const isWhole = started++ % HANDSHAKE_EVERY === 0;
        const socket = isWhole ? connectTls({ host: "127.0.0.1", port: server.port, ca: server.ca }) : open(server);
        socket.on("error", () => {});
        const outcome = await Promise.race([
          once(socket, isWhole ? "secureConnect" : "connect").then(() => "opened"),
          closed(socket).then(() => "refused"),
        ]);
        outcomes.add(outcome);
        socket.destroy();
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS_AT_ONCE }, one));
    expect(outcomes.counts).toEqual({ opened: CONNECTIONS });
    expect((await server.request("GET", "/readyz")).status).toBe(200);
  });

  test("that send a body of 4 MiB receive 413 with a Status, with and without content length", async () => {
    const body = Buffer.from(JSON.stringify(configMap("big", { filler: "x".repeat(4 * MIB) })));
    const announced = await server.request("POST", CONFIG_MAPS, body);
    const chunked = await server.request("POST", CONFIG_MAPS, body, { "transfer-encoding": "chunked" });
    for (const { status, body: response } of [announced, chunked]) {
      expect(status).toBe(413);
      expect(response).toMatchObject({ kind: "Status", status: "Failure", reason: "RequestEntityTooLarge", code: 413 });
    }
    const session = connectHttp2(server.url, { ca: server.ca });
    const stream = session.request({
      ":method": "POST",
      ":path": CONFIG_MAPS,
      authorization: `Bearer ${server.token}`,
      "content-type": "application/json",
    });
    stream.on("error", () => {});
    stream.end(body);
    const { status, text } = await http2Answer(stream);
    expect({ status, code: JSON.parse(text).code }).toEqual({ status: 413, code: 413 });
    session.destroy();
  });

  test("that send a URL of 100 kB receive 414 or 431 on HTTP/1.1, and the same or a reset stream on HTTP/2", async () => {
    const path = `${CONFIG_MAPS}?labelSelector=${"x".repeat(100_000)}`;
    expect((await server.request("GET", path)).status).toBeOneOf([414, 431]);
    const session = connectHttp2(server.url, { ca: server.ca });
    session.on("error", () => {});
    const stream = session.request({ ":path": path, authorization: `Bearer ${server.token}` });
    const outcome = await http2Answer(stream).then(
      ({ status }) => status,
      () => "refused",
    );
    expect(outcome).toBeOneOf([414, 431, "refused"]);
    session.destroy();
  });

  test("that do not read their watch receive 410 once they read it, and do not delay other clients", async () => {
    const path = `${CONFIG_MAPS}/churned`;
    const filler = "x".repeat(900_000);
    await server.request("POST", CONFIG_MAPS, configMap("churned"));
    const response = await openUnreadWatch(server);
    const before = await metrics(server);
    const updates = 110;
    for (let turn = 0; turn < updates; turn++) {
      const { status } = await server.request("PUT", path, configMap("churned", { turn: String(turn), filler }));
      expect(status).toBe(200);
    }
    const after = await metrics(server);
    console.info(
      `unread watch: open watches ${before.watches} -> ${after.watches}, resident MB ${before.residentMb} -> ${after.residentMb} over ${updates} events of 0.9 MB`,
    );
    const turns: number[] = [];
    let last: Json;
    let rest = "";
    for await (const text of response.setEncoding("utf8")) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        last = JSON.parse(line);
        if (last.type === "MODIFIED") turns.push(Number(last.object.data.turn));
      }
    }
    expect(last).toMatchObject({ type: "ERROR", object: { kind: "Status", code: 410 } });
    expect(response.complete).toBe(true);
    expect(turns).toEqual(turns.map((_, index) => index));
    expect(turns.length).toBeLessThan(updates);
  });

  test(`that open ${HTTP2_WATCHES} watches and a list of 25 MB on one HTTP/2 connection are served`, async () => {
    const items = 28;
    for (let index = 0; index < items; index++) {
      expect(
        (await server.request("POST", CONFIG_MAPS, configMap(`big-${index}`, { filler: "x".repeat(900_000) }))).status,
      ).toBe(201);
    }
    const ownWatches = (await metrics(server)).watches;
    const session = connectHttp2(server.url, { ca: server.ca });
    const statuses = new Tally();
    const watches = await Promise.all(
      Array.from({ length: HTTP2_WATCHES }, () => openHttp2Watch(server, session, statuses)),
    );
    const list = http2Answer(session.request({ ":path": CONFIG_MAPS, authorization: `Bearer ${server.token}` }));
    expect(
      (await server.request("POST", SECRETS, { apiVersion: "v1", kind: "Secret", metadata: { name: "seen" } })).status,
    ).toBe(201);
    const [{ status, text }] = await Promise.all([list, ...watches.map((watch) => watch.told)]);
    expect(status).toBe(200);
    expect(JSON.parse(text).items.length).toBeGreaterThanOrEqual(items);
    expect(text.length).toBeGreaterThan(25_000_000);
    expect(statuses.counts).toEqual({ "200": HTTP2_WATCHES });
    expect((await metrics(server)).watches).toBe(ownWatches + HTTP2_WATCHES);
    session.destroy();
  });

  test("cause no log message, and the server stops with exit code 0", async () => {
    expect(server.stderr).toBe("");
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });
});

async function expectReady(server: Evenkeel): Promise<void> {
  expect((await server.request("GET", "/readyz")).status).toBe(200);
}

function open(server: Evenkeel): Socket {
  const socket = connect({ host: "127.0.0.1", port: server.port });
  socket.on("error", () => {});
  return socket;
}

/** Resolves when the socket has closed, even if not all its data was read. */
async function closed(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await new Promise((resolve) => void socket.once("close", resolve));
}

async function openUnreadWatch(server: Evenkeel): Promise<IncomingMessage> {
  const request = httpsRequest(`${server.url}${CONFIG_MAPS}?watch=true`, {
    agent: false,
    ca: server.ca,
    headers: { authorization: `Bearer ${server.token}` },
  });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  return response;
}

async function http2Answer(stream: ClientHttp2Stream): Promise<{ status: number; text: string }> {
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const [[headers]] = (await Promise.all([once(stream, "response"), once(stream, "end")])) as [
    [Record<string, string>],
    unknown,
  ];
  return { status: Number(headers[":status"]), text };
}

async function openHttp2Watch(
  server: Evenkeel,
  session: ClientHttp2Session,
  statuses: Tally,
): Promise<{ told: Promise<unknown> }> {
  const stream = session.request({ ":path": `${SECRETS}?watch=true`, authorization: `Bearer ${server.token}` });
  const reported = once(stream, "data");
  const [headers] = (await once(stream, "response")) as [Record<string, string>];
  statuses.add(Number(headers[":status"]));
  return { told: reported };
}

async function metrics(server: Evenkeel): Promise<{ watches: number; residentMb: number }> {
  const { text } = await server.request("GET", "/metrics");
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  return {
    watches: value("evenkeel_open_watches"),
    residentMb: Math.round(value("process_resident_memory_bytes") / 1e6),
  };
}

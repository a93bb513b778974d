/** Tests SIGTERM under load: rejected clients receive a clear response, and no response is truncated. */
import { once } from "node:events";
import { connect as connectHttp2, type ClientHttp2Stream } from "node:http2";
import { Agent } from "node:https";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { describe, expect, test } from "vitest";
import { ask, configMap, CONFIG_MAPS, Tally, Watch, type SmokeResponse } from "./client.ts";
import { startEvenkeel, type Evenkeel } from "./start-evenkeel.ts";

const WATCHES = 20;
const UPLOADS = 10;
const IDLE = 10;
const BUSY = 8;

const MODES = [
  { name: "closes its listener", flags: [], status: 503, retryAfter: "1", newcomers: "ECONNREFUSED" },
  { name: "sends Retry-After", flags: ["--shutdown-send-retry-after"], status: 429, retryAfter: "5", newcomers: "429" },
];

describe.each(MODES)("a server that $name on SIGTERM", (mode) => {
  const { flags, status, retryAfter, newcomers } = mode;
  test.each([{ grace: "0s" }, { grace: "1s" }])(
    "completes accepted requests, rejects new ones, ends watches over $grace, and exits with 0",
    { timeout: 60_000 },
    async ({ grace }) => {
      await using server = await startEvenkeel({
        flags: [...flags, "--log-level=info", `--shutdown-watch-termination-grace-period=${grace}`, "--controllers="],
      });
      const watches = Array.from({ length: WATCHES }, () => new Watch(server, `${CONFIG_MAPS}?watch=true`));
      await Promise.all(watches.map((watch) => watch.opened));
      const streams = await Promise.all(Array.from({ length: WATCHES }, () => http2Watch(server)));
      const uploads = await Promise.all(Array.from({ length: UPLOADS }, (_, index) => beginUpload(server, index)));
      const idle = await Promise.all(Array.from({ length: IDLE }, () => keptAlive(server)));
      const busy = Array.from({ length: BUSY }, () => [
        askUntilTurnedAway(server),
        askHttp2UntilTurnedAway(server),
      ]).flat();
      await Promise.all(busy.map(({ connected }) => connected));

      server.command.child.kill("SIGTERM");
      await untilLogged(server, "NotAcceptingNewRequest");
      const turnedAway = await Promise.all(idle.map((client) => client.ask(CONFIG_MAPS)));
      for (const response of turnedAway)
        expect([response.status, response.headers["retry-after"], response.headers.connection]).toEqual([
          status,
          retryAfter,
          "close",
        ]);
      const newcomer = ask({ ...server, agent: new Agent() }, { method: "GET", path: CONFIG_MAPS });
      expect(await newcomer.then(({ status: code }) => String(code), codeOf)).toBe(newcomers);

      const created = await Promise.all(uploads.map((upload) => upload.finish()));
      expect(created.map((head) => head.split("\r\n")[0])).toEqual(uploads.map(() => "HTTP/1.1 201 Created"));
      expect(await server.command.exited).toEqual({ code: 0, signal: null });
      expect(await Promise.all(watches.map((watch) => watch.ended))).toEqual(watches.map(() => "complete"));
      expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(
        streams.map(() => ({ code: 0, isAborted: false, isEnded: true })),
      );
      const tally = new Tally();
      for (const how of await Promise.all(busy.map(({ ended }) => ended))) tally.add(how);
      expect(Object.keys(tally.counts).filter((how) => !allowedEnds(mode).includes(how))).toEqual([]);
    },
  );
});

test.each(MODES)(
  "busy clients are rejected with an allowed response, and not cut off, by a server that $name on SIGTERM",
  async (mode) => {
    await using server = await startEvenkeel({ flags: [...mode.flags, "--controllers="] });
    const busy = Array.from({ length: BUSY }, () => [
      askUntilTurnedAway(server),
      askHttp2UntilTurnedAway(server),
    ]).flat();
    await Promise.all(busy.map(({ connected }) => connected));
    server.command.child.kill("SIGTERM");
    expect(await server.command.exited).toEqual({ code: 0, signal: null });
    const ends = await Promise.all(busy.map(({ ended }) => ended));
    expect(ends.filter((how) => !allowedEnds(mode).includes(how))).toEqual([]);
  },
);

test("during --shutdown-delay-duration the server serves all requests but is not ready, until a second signal ends it", async () => {
  await using server = await startEvenkeel({ flags: ["--shutdown-delay-duration=1h"] });
  server.command.child.kill("SIGTERM");
  await server.command.printed(/^Stopping\.$/m);
  expect((await server.request("GET", "/readyz")).status).toBe(500);
  expect((await server.request("POST", CONFIG_MAPS, configMap("late"))).status).toBe(201);
  server.command.child.kill("SIGTERM");
  expect(await server.command.exited).toEqual({ code: 1, signal: null });
});

function allowedEnds({ status, retryAfter }: (typeof MODES)[number]): string[] {
  return [`${status} ${retryAfter}`, "refused", "goaway"];
}

/** Resolves when the log contains this shutdown event. */
async function untilLogged(server: Evenkeel, event: string): Promise<void> {
  const { stderr } = server.command.child;
  while (!server.stderr.includes(event)) await once(stderr!, "data");
}

function codeOf(thrown: unknown): string {
  return (thrown as NodeJS.ErrnoException).code ?? String(thrown);
}

interface Upload {
  /** Sends the rest of the body. Resolves to the head of the response. */
  finish(): Promise<string>;
}

/** Resolves when the server has begun to read the body of the request. */
async function beginUpload(server: Evenkeel, index: number): Promise<Upload> {
  const body = Buffer.from(JSON.stringify(configMap(`upload-${index}`)));
  const socket = connectTls({ host: "127.0.0.1", port: server.port, ca: server.ca });
  await once(socket, "secureConnect");
  const head = [
    `POST ${CONFIG_MAPS} HTTP/1.1`,
    "Host: a",
    `Authorization: Bearer ${server.token}`,
    "Expect: 100-continue",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  await once(socket, "data");
  return {
    async finish() {
      socket.write(body);
      return textUntilEnd(socket);
    },
  };
}

async function textUntilEnd(socket: TLSSocket): Promise<string> {
  let text = "";
  for await (const chunk of socket.setEncoding("utf8")) text += chunk;
  return text;
}

/** A client whose keep-alive connection has been used and is idle. */
async function keptAlive(server: Evenkeel): Promise<{ ask(path: string): Promise<SmokeResponse> }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const target = { ...server, agent };
  await ask(target, { method: "GET", path: "/livez" });
  return { ask: (path) => ask(target, { method: "GET", path }) };
}

interface Busy {
  /** Resolves when the client has received its first response. */
  readonly connected: Promise<void>;
  /** How the client was rejected at last: by a response, a refused connection, GOAWAY, or in an unexpected way. */
  readonly ended: Promise<string>;
}

function busyClient(work: (onAnswer: () => void) => Promise<string>): Busy {
  const connected = Promise.withResolvers<void>();
  return { connected: connected.promise, ended: work(connected.resolve) };
}

/** Sends requests one after another over HTTP/1.1 until one is rejected, on one connection as long as it is open. */
function askUntilTurnedAway(server: Evenkeel): Busy {
  const target = { ...server, agent: new Agent({ keepAlive: true, maxSockets: 1 }) };
  return busyClient(async (onAnswer) => {
    for (;;) {
      try {
        const { status, headers } = await ask(target, { method: "GET", path: CONFIG_MAPS });
        if (status !== 200) return `${status} ${headers["retry-after"]}`;
        onAnswer();
      } catch (thrown) {
        return codeOf(thrown) === "ECONNREFUSED" ? "refused" : `cut: ${codeOf(thrown)}`;
      }
    }
  });
}

/**
 * Sends requests over HTTP/2 until one is rejected. GOAWAY names the streams that were not processed; their requests
 * may be repeated.
 */
function askHttp2UntilTurnedAway(server: Evenkeel): Busy {
  const session = connectHttp2(server.url, { ca: server.ca });
  session.on("error", () => {});
  return busyClient(async (onAnswer) => {
    for (;;) {
      if (session.closed || session.destroyed) return "goaway";
      const stream = session.request({ ":path": CONFIG_MAPS, authorization: `Bearer ${server.token}` });
      const { status, retryAfter, isEnded, failure } = await http2Outcome(stream);
      if (status !== 0 && !isEnded) return "h2 cut";
      if (status === 0) return isNotLookedAt(failure) ? "goaway" : `h2 cut: ${failure?.message}`;
      if (status !== 200) return `${status} ${retryAfter}`;
      onAnswer();
    }
  });
}

interface Http2Outcome {
  /** Status of the response; 0 if there was none. */
  status: number;
  retryAfter: string;
  isEnded: boolean;
  failure: Error | undefined;
}

function http2Outcome(stream: ClientHttp2Stream): Promise<Http2Outcome> {
  const outcome: Http2Outcome = { status: 0, retryAfter: "", isEnded: false, failure: undefined };
  stream.on("error", (error) => (outcome.failure = error));
  stream.on("response", (headers) => {
    outcome.status = Number(headers[":status"]);
    outcome.retryAfter = headers["retry-after"] ?? "";
  });
  stream.on("end", () => (outcome.isEnded = true)).resume();
  return new Promise((resolve) => stream.on("close", () => resolve(outcome)));
}

function isNotLookedAt(failure: Error | undefined): boolean {
  return /GOAWAY|REFUSED_STREAM|session has been destroyed|pending stream/.test(failure?.message ?? "");
}

interface StreamEnd {
  readonly code: number;
  readonly isAborted: boolean;
  readonly isEnded: boolean;
}

/** Resolves when the watch is open, to a promise of how it ends. */
async function http2Watch(server: Evenkeel): Promise<{ readonly ended: Promise<StreamEnd> }> {
  const session = connectHttp2(server.url, { ca: server.ca });
  session.on("error", () => {});
  const stream = session.request({ ":path": `${CONFIG_MAPS}?watch=true`, authorization: `Bearer ${server.token}` });
  stream.on("error", () => {});
  let isEnded = false;
  stream.on("end", () => (isEnded = true)).resume();
  const ended = once(stream, "close").then(() => ({ code: stream.rstCode ?? 0, isAborted: stream.aborted, isEnded }));
  await once(stream, "response");
  return { ended };
}

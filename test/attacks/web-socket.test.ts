/**
 * Tests of watches over WebSockets, as browsers open them: the client sends its token as one of the offered
 * subprotocols.
 */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createAsAdmin,
  openTls,
  OTHER,
  OWN,
  parseRawResponse,
  sendLines,
  startSite,
  TENANT_TOKEN,
  type Site,
} from "./start.ts";

const CONFIG_MAPS = `/api/v1/namespaces/${OWN}/configmaps`;
const JOBS = `/apis/batch/v1/namespaces/${OWN}/jobs`;
const KEY = ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"];
const UPGRADE = ["Connection: Upgrade", "Upgrade: websocket", "Origin: https://console.example.com"];
const TEXT_FRAME = 0x81;
const PONG_FRAME = 0x8a;
const CLOSE_FRAME = 0x88;

const tokenProtocol = (token: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`;
const offer = (...protocols: string[]): string => `Sec-WebSocket-Protocol: ${protocols.join(", ")}`;
const watched = (path: string, seconds = 1): string => `GET ${path}?watch=true&timeoutSeconds=${seconds} HTTP/1.1`;
const OFFERED = offer(tokenProtocol(TENANT_TOKEN), "base64.binary.k8s.io");

let site: Site;
beforeAll(async () => {
  site = await startSite();
  await createAsAdmin(site.first, CONFIG_MAPS, { metadata: { name: "seen" }, data: { long: "x".repeat(70_000) } });
});
afterAll(() => site[Symbol.asyncDispose]());

/** Splits the bytes of the server into WebSocket frames, which a server never masks or fragments here. */
function framesOf(bytes: Buffer): { readonly first: number; readonly payload: Buffer }[] {
  const frames = [];
  for (let at = 0; at < bytes.length;) {
    const [first, short] = [bytes[at]!, bytes[at + 1]!];
    const head = short === 126 ? 4 : short === 127 ? 10 : 2;
    const length =
      short === 126 ? bytes.readUInt16BE(at + 2) : short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short;
    frames.push({ first, payload: bytes.subarray(at + head, at + head + length) });
    at += head + length;
  }
  return frames;
}

async function conversation(lines: readonly string[], said?: Buffer): Promise<{ head: string; rest: Buffer }> {
  const socket = await openTls(site.first);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => {
    if (chunks.push(chunk) === 1 && said !== undefined) socket.write(said);
  });
  socket.write([...lines, "Host: x", "", ""].join("\r\n"));
  await once(socket, "close");
  const received = Buffer.concat(chunks);
  const end = received.indexOf("\r\n\r\n");
  return { head: received.toString("latin1", 0, end), rest: received.subarray(end + 4) };
}

describe("a watch over a WebSocket", () => {
  test("sends a message for each event and ends with a close frame", async () => {
    const { head, rest } = await conversation([watched(CONFIG_MAPS), ...UPGRADE, ...KEY, OFFERED]);
    expect(head).toMatch(/^HTTP\/1\.1 101 /);
    expect(head.toLowerCase()).toContain("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=");
    expect(head.toLowerCase()).toContain("sec-websocket-protocol: base64.binary.k8s.io");
    expect(head).not.toContain("bearer");
    const frames = framesOf(rest);
    expect(frames.map(({ first }) => first)).toEqual([TEXT_FRAME, CLOSE_FRAME]);
    expect(JSON.parse(frames[0]!.payload.toString())).toMatchObject({
      type: "ADDED",
      object: { metadata: { name: "seen" } },
    });
  });

  test("is proxied to the peer that serves the resource", async () => {
    const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } };
    await createAsAdmin(site.second, JOBS, { metadata: { name: "far" }, spec: { template } });
    const { head, rest } = await conversation([watched(JOBS), ...UPGRADE, ...KEY, OFFERED]);
    expect(head).toMatch(/^HTTP\/1\.1 101 /);
    expect(framesOf(rest)[0]!.payload.toString()).toContain('"name":"far"');
  });

  test("responds to pings, ignores messages of the client, and ends when the client closes it", async () => {
    const masked = (opcode: number, payload: number[]): Buffer =>
      Buffer.from([
        0x80 | opcode,
        0x80 | payload.length,
        1,
        2,
        3,
        4,
        ...payload.map((byte, at) => byte ^ ((at % 4) + 1)),
      ]);
    const said = Buffer.concat([masked(1, [1, 2, 3, 4, 5]), masked(9, [7, 8, 9, 10, 11]), masked(8, [])]);
    const { rest } = await conversation([watched(CONFIG_MAPS, 300), ...UPGRADE, ...KEY, OFFERED], said);
    const frames = framesOf(rest).filter(({ first }) => first !== TEXT_FRAME);
    expect(frames.map(({ first }) => first)).toEqual([PONG_FRAME, CLOSE_FRAME]);
    expect([...frames[0]!.payload]).toEqual([7, 8, 9, 10, 11]);
  });

  test("ends if the client does not mask its frames", async () => {
    const lines = [watched(CONFIG_MAPS, 300), ...UPGRADE, ...KEY, OFFERED];
    const { rest } = await conversation(lines, Buffer.from([TEXT_FRAME, 1, 65]));
    expect(framesOf(rest).at(-1)!.first).toBe(CLOSE_FRAME);
  });
});

describe("a WebSocket request is rejected", () => {
  test.each([
    ["a wrong token", [offer(tokenProtocol("guess"), "a")], 401],
    ["a token without another protocol", [offer(tokenProtocol(TENANT_TOKEN))], 401],
    ["two tokens", [offer(tokenProtocol(TENANT_TOKEN), tokenProtocol(TENANT_TOKEN), "a")], 401],
    ["a token that is not base64url", [offer("base64url.bearer.authorization.k8s.io.a+b=", "a")], 401],
    ["no token", [offer("a")], 403],
  ])("if it offers %s", async (_what, protocols, status) => {
    const { status: answered } = await sendLines(site.first, [watched(CONFIG_MAPS), ...UPGRADE, ...KEY, ...protocols]);
    expect(answered).toBe(status);
  });

  test("if the user may not watch the resource", async () => {
    const lines = [watched(`/api/v1/namespaces/${OTHER}/secrets`), ...UPGRADE, ...KEY, OFFERED];
    expect((await sendLines(site.first, lines)).status).toBe(403);
  });

  test("if it lacks the header Connection: Upgrade", async () => {
    const { status } = await sendLines(site.first, [watched(CONFIG_MAPS), "Upgrade: websocket", OFFERED]);
    expect(status).toBe(403);
  });

  test.each([
    ["an Origin", [UPGRADE[0]!, UPGRADE[1]!, ...KEY, OFFERED], 403],
    ["a key", [...UPGRADE, KEY[1]!, OFFERED], 400],
    ["the supported version", [...UPGRADE, KEY[0]!, "Sec-WebSocket-Version: 8", OFFERED], 400],
    ["a single other protocol", [...UPGRADE, ...KEY, offer(tokenProtocol(TENANT_TOKEN), "a", "b")], 400],
  ])("if it lacks %s", async (_what, lines, status) => {
    const { head } = await conversation([watched(CONFIG_MAPS), ...lines]);
    expect(parseRawResponse(`${head}\r\n\r\n`).status).toBe(status);
  });
});

import { describe, expect, test } from "vitest";
import { forwardedHeaders } from "./forwarded.ts";
import { infoRequest } from "../../../test/testing/serving/http/requests.ts";
import { ClientFrameReader, frameHead } from "./web-socket.ts";
import { offeredProtocols } from "./web-socket-protocols.ts";

function masked(opcode: number, payload: Buffer): Buffer {
  const mask = Buffer.from([9, 8, 7, 6]);
  const head = frameHead(opcode, payload.length);
  head[1]! |= 0x80;
  return Buffer.concat([head, mask, payload.map((byte, index) => byte ^ mask[index % 4]!)]);
}

function readIn(pieces: readonly Buffer[]): string[] {
  const seen: string[] = [];
  const reader = new ClientFrameReader({
    onPing: (payload) => seen.push(`ping ${Buffer.from(payload).toString()}`),
    onClose: () => seen.push("close"),
  });
  for (const piece of pieces) reader.push(piece);
  return seen;
}

describe("the frames of a client", () => {
  const said = Buffer.concat([
    masked(1, Buffer.alloc(70_000, "{")),
    masked(9, Buffer.from("first")),
    masked(2, Buffer.alloc(300)),
    masked(9, Buffer.alloc(0)),
    masked(8, Buffer.from([3, 232])),
    masked(9, Buffer.from("late")),
  ]);

  test.each([1, 2, 3, 7, 1_000, 1_000_000])("are parsed from pieces of %i bytes", (size) => {
    const pieces = [];
    for (let at = 0; at < said.length; at += size) pieces.push(said.subarray(at, at + size));
    expect(readIn(pieces)).toEqual(["ping first", "ping ", "close"]);
  });

  test.each([
    ["unmasked", Buffer.from([0x89, 0])],
    ["a ping that is too long", masked(9, Buffer.alloc(126))],
  ])("close the connection if one of them is %s", (_what, bytes) => {
    expect(readIn([bytes, masked(9, Buffer.from("x"))])).toEqual(["close"]);
  });
});

test.each([
  [0, "8100"],
  [125, "817d"],
  [126, "817e007e"],
  [65_535, "817effff"],
  [65_536, "817f0000000000010000"],
])("the frame of a message of %i bytes begins with %s", (length, head) => {
  expect(frameHead(1, length).toString("hex")).toBe(head);
});

test("offeredProtocols separates tokens from other protocols", () => {
  const text = "a,base64url.bearer.authorization.k8s.io.dG9rZW4 , b";
  expect(offeredProtocols(text)).toEqual({ tokens: ["dG9rZW4"], others: ["a", "b"] });
  expect(offeredProtocols(undefined)).toEqual({ tokens: [], others: [] });
});

test("forwarded headers contain no bearer token", () => {
  const rawHeaders = ["Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.dG9rZW4, a", "X", "y"];
  const user = { name: "jane", uid: "", groups: [], extra: {} };
  const headers = forwardedHeaders(
    { ...infoRequest(), rawHeaders },
    { user, isReserved: () => false, own: [], isWatch: true },
  );
  expect(headers.slice(0, 4)).toEqual(["Sec-WebSocket-Protocol", "a", "X", "y"]);
});

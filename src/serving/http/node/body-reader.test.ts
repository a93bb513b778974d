import { once } from "node:events";
import { PassThrough } from "node:stream";

import { describe, expect, test } from "vitest";

import { BodyReader } from "./body-reader.ts";
import { collect } from "../../../../test/testing/serving/http/node/test-server.ts";

function open(timeoutMs = 60_000): { stream: PassThrough; body: BodyReader; begun: () => number } {
  const stream = new PassThrough();
  let begun = 0;
  const isComplete = (): boolean => stream.writableEnded;
  const body = new BodyReader({ stream, announced: undefined, timeoutMs, isComplete, onRead: () => void begun++ });
  return { stream, body, begun: () => begun };
}

describe("a streamed body", () => {
  test("is not read before the handler requests its first piece", async () => {
    const { stream, body, begun } = open();
    const pieces = body.stream()[Symbol.asyncIterator]();
    expect([body.untouched, begun(), stream.readableFlowing]).toEqual([true, 0, null]);
    const first = pieces.next();
    expect([body.untouched, begun()]).toEqual([false, 1]);
    stream.write("abc");
    expect(await first).toEqual({ done: false, value: Buffer.from("abc") });
    stream.end();
    expect(await pieces.next()).toEqual({ done: true, value: undefined });
    expect([await pieces.next(), begun()]).toEqual([{ done: true, value: undefined }, 1]);
  });

  test("must arrive completely within the timeout", async () => {
    const { stream, body } = open(20);
    stream.write("abc");
    await expect(collect(body.stream())).rejects.toThrow("the request body did not arrive in time");
    // The reader discards later bytes.
    stream.end(Buffer.alloc(1_000_000));
    await once(stream, "end");
  });

  test("rejects a second read while the first read is waiting", async () => {
    const { stream, body } = open();
    const pieces = body.stream()[Symbol.asyncIterator]();
    const first = pieces.next();
    await expect(pieces.next()).rejects.toThrow("one piece at a time");
    stream.end("abc");
    expect((await first).value).toEqual(Buffer.from("abc"));
  });

  test("fails for its reader when the response has been sent, even if reading has not begun", async () => {
    for (const begin of [true, false]) {
      const { stream, body } = open();
      const pieces = body.stream()[Symbol.asyncIterator]();
      const waiting = begin ? pieces.next() : undefined;
      body.abandon();
      await expect(waiting ?? pieces.next()).rejects.toThrow("response was sent before the request body was read");
      expect(await pieces.next()).toEqual({ done: true, value: undefined });
      stream.destroy();
    }
  });

  test("fails if the client disconnected before reading began", async () => {
    const { stream, body } = open();
    stream.destroy();
    await expect(collect(body.stream())).rejects.toThrow("the client disconnected before its request was complete");
  });
});

import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { isReason } from "../meta/status-error.ts";
import { decodeWatch } from "./watch-decoder.ts";
import { added, bookmark, configMap, status } from "../../test/testing/client/scripted-transport.ts";

async function* pieces(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const cut of [...cuts.map((at) => at % (bytes.length + 1)).sort((left, right) => left - right), bytes.length]) {
    yield bytes.subarray(from, cut);
    from = cut;
  }
}

async function decode(text: string, cuts: readonly number[] = [], bytesMax?: number): Promise<unknown[]> {
  const events = [];
  for await (const event of decodeWatch(pieces(new TextEncoder().encode(text), cuts), bytesMax)) events.push(event);
  return events;
}

const lines = (...events: object[]): string => events.map((event) => `${JSON.stringify(event)}\n`).join("");

describe("the decoder", () => {
  test("returns the same events however the stream is split into chunks", async () => {
    const events = [added(configMap("ä€😀", 1, { data: { text: "zeile\nzwei 😀" } })), bookmark(2)];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(400)), async (cuts) => {
        expect(await decode(lines(...events), cuts)).toEqual(events);
      }),
    );
  });

  test("ignores empty lines", async () => {
    expect(await decode(`\n${lines(bookmark(1))}\n\r\n`.replace("\r\n", "\n"))).toEqual([bookmark(1)]);
  });

  test("omits an incomplete last line", async () => {
    expect(await decode(`${lines(bookmark(1))}{"type":"ADDED","obj`)).toEqual([bookmark(1)]);
  });

  test("throws an ERROR event as a StatusError, after returning the events before it", async () => {
    const seen: unknown[] = [];
    const body = pieces(
      new TextEncoder().encode(lines(bookmark(1), { type: "ERROR", object: status(410, "Expired") })),
      [],
    );
    const reading = (async (): Promise<void> => {
      for await (const event of decodeWatch(body)) seen.push(event);
    })();
    const thrown: unknown = await reading.catch((error: unknown) => error);
    expect(isReason(thrown, "Expired")).toBe(true);
    expect(seen).toHaveLength(1);
  });
});

describe("the watch fails on", () => {
  test.each([
    ["a line that is not JSON", "{oops}\n"],
    ["a value that is not an object", "[]\n"],
    ["an event without an object", '{"type":"ADDED"}\n'],
    ["an event of an unknown type", '{"type":"EXPLODED","object":{}}\n'],
    ["a type that is not a string", '{"type":{},"object":{}}\n'],
  ])("%s", async (_what, text) => {
    await expect(decode(text)).rejects.toMatchObject({ name: "TransportError", failure: "malformed" });
  });

  test("a line longer than the limit, as soon as the limit is exceeded", async () => {
    const text = `{"type":"ADDED","object":{"data":"${"x".repeat(1000)}`;
    await expect(decode(text, [50, 100, 500], 100)).rejects.toMatchObject({ failure: "malformed" });
    await expect(decode(`${text}"}}\n`, [], 100)).rejects.toMatchObject({ failure: "malformed" });
  });
});

import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { GzipSink } from "./gzip-sink.ts";
import type { StreamFrame, StreamSink } from "./message.ts";

class Transport implements StreamSink {
  readonly members: StreamFrame[] = [];
  isFull = false;
  hasEnded = false;
  readonly #onDrain: (() => void)[] = [];

  get text(): string {
    return gunzipSync(Buffer.concat(this.members.map(({ bytes }) => bytes))).toString();
  }

  write(frame: StreamFrame): boolean {
    this.members.push(frame);
    return !this.isFull;
  }

  bufferedBytes(): number {
    return 0;
  }

  onDrain(callback: () => void): void {
    this.#onDrain.push(callback);
  }

  drain(): void {
    this.isFull = false;
    for (const callback of this.#onDrain) callback();
  }

  onClose(): void {}

  end(): void {
    this.hasEnded = true;
  }

  abort(): void {}
}

const frame = (text: string): StreamFrame => ({ bytes: Buffer.from(text) });
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe("a compressed stream", () => {
  test("sends the frames of a turn as one gzip member, and later frames as further members", async () => {
    const transport = new Transport();
    const sink = new GzipSink(transport);
    for (const text of ["a\n", "b\n", "c\n"]) sink.write(frame(text));
    expect(transport.members).toEqual([]);
    await turn();
    sink.write(frame("d\n"));
    await turn();
    expect(transport.members).toHaveLength(2);
    expect(transport.text).toBe("a\nb\nc\nd\n");
  });

  test("sends a member at once when its frames exceed 64 KiB, so that no step takes long", () => {
    const transport = new Transport();
    const sink = new GzipSink(transport);
    const object = `${"x".repeat(10_000)}\n`;
    for (let index = 0; index < 20; index++) sink.write(frame(object));
    expect(transport.members).toHaveLength(2);
    sink.end();
    expect(transport.text).toBe(object.repeat(20));
    expect(transport.hasEnded).toBe(true);
  });

  test("compresses a change once for all streams that send it", async () => {
    const transports = [new Transport(), new Transport()];
    const change = frame("changed\n");
    for (const transport of transports) new GzipSink(transport).write(change);
    await turn();
    const [first, second] = transports.map(({ members }) => members[0]);
    expect(first).toBeDefined();
    expect(second).toBe(first);
  });

  test("reports that the transport is full until it has drained", async () => {
    const transport = new Transport();
    const sink = new GzipSink(transport);
    transport.isFull = true;
    sink.write(frame("a\n"));
    await turn();
    expect(sink.write(frame("b\n"))).toBe(false);
    transport.drain();
    expect(sink.write(frame("c\n"))).toBe(true);
  });
});

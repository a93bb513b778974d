import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import { closedSink } from "./closed-sink.ts";
import { NO_BODY, type ApiResponse, type StreamSink } from "./message.ts";
import { OpenRequests, type RequestKind } from "./open-requests.ts";

const OK: ApiResponse = { status: 200, headers: {}, body: NO_BODY };
const LONG_MS = 60_000;

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

class RecordingSink implements StreamSink {
  text = "";
  isEnded = false;
  readonly #onClose: (() => void)[] = [];

  write({ bytes }: { readonly bytes: Buffer }): boolean {
    if (!this.isEnded) this.text += bytes.toString();
    return true;
  }
  bufferedBytes(): number {
    return 0;
  }
  onDrain(): void {}
  onClose(callback: () => void): void {
    this.#onClose.push(callback);
  }
  end(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    for (const callback of this.#onClose) callback();
  }
  abort(): void {
    this.end();
  }
}

/** Opens a stream. Returns its writer, and a reader that records the received text. */
async function openStream(
  open: OpenRequests,
  kind: RequestKind = "watch",
): Promise<{ writer: StreamSink; reader: RecordingSink }> {
  let writer: StreamSink = closedSink();
  const body = { kind: "stream", open: (sink: StreamSink) => void (writer = sink) } as const;
  const response = await open.through(kind, () => Promise.resolve({ ...OK, body }));
  const reader = new RecordingSink();
  if (response.body.kind === "stream") response.body.open(reader);
  return { writer, reader };
}

const line = (text: string): { bytes: Buffer } => ({ bytes: Buffer.from(text) });

describe("a shutdown waits for requests", () => {
  test("until they have succeeded or failed", async () => {
    const open = new OpenRequests();
    const clock = createManualClock();
    const answered = Promise.withResolvers<ApiResponse>();
    const failed = Promise.withResolvers<ApiResponse>();
    const first = open.through("short", () => answered.promise);
    const second = open.through("short", () => failed.promise);
    let isDrained: boolean | undefined;
    void open.drain({ clock, graceMs: 0, limitMs: LONG_MS }).then((is) => (isDrained = is));
    answered.resolve(OK);
    expect(await first).toBe(OK);
    await settled();
    expect([isDrained, open.answering]).toEqual([undefined, 1]);
    failed.reject(new Error("no"));
    await expect(second).rejects.toThrow("no");
    await settled();
    expect([isDrained, open.answering]).toEqual([true, 0]);
  });

  test("with a streamed response until the stream has ended", async () => {
    const open = new OpenRequests();
    const clock = createManualClock();
    const { writer, reader } = await openStream(open, "short");
    const drained = open.drain({ clock, graceMs: 0, limitMs: LONG_MS });
    await settled();
    expect([open.answering, reader.isEnded]).toEqual([1, false]);
    writer.end();
    expect(await drained).toBe(true);
  });

  test("no longer than its limit, and reports that some are still open", async () => {
    const open = new OpenRequests();
    const clock = createManualClock();
    void open.through("short", () => new Promise(() => {}));
    const drained = open.drain({ clock, graceMs: 0, limitMs: LONG_MS });
    clock.advance(LONG_MS);
    expect(await drained).toBe(false);
  });

  test("except endless ones, which it does not end either", async () => {
    const open = new OpenRequests();
    const { reader } = await openStream(open, "endless");
    expect(await open.drain({ clock: createManualClock(), graceMs: 0, limitMs: LONG_MS })).toBe(true);
    expect(reader.isEnded).toBe(false);
  });
});

describe("a shutdown ends watches", () => {
  test("at once if there is no grace period, including a watch that opens later", async () => {
    const open = new OpenRequests();
    const { reader } = await openStream(open);
    expect(open.watches).toBe(1);
    await open.drain({ clock: createManualClock(), graceMs: 0, limitMs: LONG_MS });
    expect([reader.isEnded, open.watches]).toEqual([true, 0]);
    expect((await openStream(open)).reader.isEnded).toBe(true);
  });

  test.each([
    { count: 400, graceMs: 1_000, afterMs: 500, ended: 200 },
    { count: 400, graceMs: 60_000, afterMs: 500, ended: 100 },
    { count: 4_000, graceMs: 2_000, afterMs: 1_000, ended: 2_000 },
  ])(
    "evenly: of $count watches over $graceMs ms, about $ended have ended after $afterMs ms",
    async ({ count, graceMs, afterMs, ended }) => {
      const open = new OpenRequests();
      const clock = createManualClock();
      const streams = await Promise.all(Array.from({ length: count }, () => openStream(open)));
      let isOver = false;
      void open.endWatches({ clock, graceMs }).then(() => (isOver = true));
      const advance = async (ms: number): Promise<void> => {
        for (let passed = 0; passed < ms; passed += 5) {
          clock.advance(5);
          await settled();
        }
      };
      await advance(afterMs);
      const now = streams.filter(({ reader }) => reader.isEnded).length;
      expect(now).toBeGreaterThan(ended * 0.9);
      expect(now).toBeLessThan(ended * 1.1);
      expect(isOver).toBe(false);
      await advance(count * 5 + 10);
      expect([isOver, streams.every(({ reader }) => reader.isEnded)]).toEqual([true, true]);
    },
  );

  test("between two events, never within one", async () => {
    const open = new OpenRequests();
    const { writer, reader } = await openStream(open);
    writer.write(line('{"type":"ADDED"}\n{"type":'));
    await open.endWatches({ clock: createManualClock(), graceMs: 0 });
    expect(reader.isEnded).toBe(false);
    writer.write(line('"ADDED"}\n'));
    writer.write(line("never seen\n"));
    expect([reader.isEnded, reader.text]).toEqual([true, '{"type":"ADDED"}\n{"type":"ADDED"}\n']);
  });

  test("by calling the writer, if the writer has registered for this", async () => {
    const open = new OpenRequests();
    const { writer, reader } = await openStream(open);
    writer.onEnding?.(() => {
      writer.write(line("goodbye\n"));
      writer.end();
    });
    await open.endWatches({ clock: createManualClock(), graceMs: 0 });
    expect([reader.isEnded, reader.text]).toEqual([true, "goodbye\n"]);
  });

  test("and waits for clients that do not read the end no longer than the grace period", async () => {
    const open = new OpenRequests();
    const clock = createManualClock();
    const body = { kind: "stream", open: () => {} } as const;
    const response = await open.through("watch", () => Promise.resolve({ ...OK, body }));
    const slow: StreamSink = { ...closedSink(), onClose: () => {} };
    if (response.body.kind === "stream") response.body.open(slow);
    const drained = open.drain({ clock, graceMs: 1_000, limitMs: LONG_MS });
    await settled();
    clock.advance(1_000);
    expect([await drained, open.watches]).toEqual([true, 1]);
  });
});

/**
 * Compresses a stream. The frames of a turn of the event loop become one gzip member, up to a limit, so that many
 * initial events compress well, and a client can decode each change when it arrives. Nothing of zlib is kept between
 * two members, because most watches are idle.
 */
import { gzipSync } from "node:zlib";
import type { StreamFrame, StreamSink } from "./message.ts";

/** Compressing this many bytes takes about a millisecond. */
const MEMBER_BYTES = 64 * 1024;
/** The fastest level, as for lists. */
const OPTIONS = { level: 1 } as const;

export class GzipSink implements StreamSink {
  readonly #sink: StreamSink;
  #pending: StreamFrame[] = [];
  #pendingBytes = 0;
  /** True from a write that the transport could not send at once until it has. */
  #isFull = false;

  constructor(sink: StreamSink) {
    this.#sink = sink;
    sink.onDrain(() => {
      this.#isFull = false;
    });
  }

  write(frame: StreamFrame): boolean {
    if (this.#pending.length === 0) queueMicrotask(() => this.#flush());
    this.#pending.push(frame);
    this.#pendingBytes += frame.bytes.length;
    if (this.#pendingBytes >= MEMBER_BYTES) this.#flush();
    return !this.#isFull;
  }

  bufferedBytes(): number {
    return this.#sink.bufferedBytes() + this.#pendingBytes;
  }

  onDrain(callback: () => void): void {
    this.#sink.onDrain(callback);
  }

  onClose(callback: () => void): void {
    this.#sink.onClose(callback);
  }

  onEnding(callback: () => void): void {
    this.#sink.onEnding?.(callback);
  }

  end(): void {
    this.#flush();
    this.#sink.end();
  }

  abort(): void {
    this.#sink.abort();
  }

  #flush(): void {
    const [first, ...others] = this.#pending;
    if (first === undefined) return;
    const member = others.length === 0 ? ofOne(first) : ofSeveral(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    if (!this.#sink.write(member)) this.#isFull = true;
  }
}

/** A change is compressed once for all watches that receive it. */
function ofOne(frame: StreamFrame): StreamFrame {
  return (frame.gzipped ??= { bytes: gzipSync(frame.bytes, OPTIONS) });
}

function ofSeveral(frames: readonly StreamFrame[]): StreamFrame {
  return { bytes: gzipSync(Buffer.concat(frames.map(({ bytes }) => bytes)), OPTIONS) };
}

/** Reads the body of a request that the listener has received, as a whole or piece by piece. */
import type { Readable } from "node:stream";

import { BodyTooLargeError, type RequestBody } from "../message.ts";
import { joined } from "./chunks.ts";
import { badRequest } from "../../../meta/status-error.ts";

const EMPTY = Buffer.alloc(0);

interface BodyStream {
  readonly stream: Readable;
  /** The value of the content-length header, if the request has one. */
  readonly announced: string | undefined;
  /** Time within which the whole body must arrive, from the start of reading. */
  readonly timeoutMs: number;
  /** True if the end of the stream is the end of the body. Node also ends the stream when the client has reset it. */
  readonly isComplete: () => boolean;
  /** Called just before the body is read, so that the protocol can send `100 Continue`. */
  readonly onRead: () => void;
}

/** Reads and buffers nothing until a handler reads the body. The protocol discards a body that is never read. */
export class BodyReader implements RequestBody {
  readonly isEmpty = false;
  readonly #source: BodyStream;
  #isTaken = false;
  #untouched = true;
  #isTooLarge = false;
  #pieces: BodyPieces | undefined;

  constructor(source: BodyStream) {
    this.#source = source;
  }

  get untouched(): boolean {
    return this.#untouched;
  }

  /** True if the body has exceeded the limit, so that its rest is not needed. */
  get isTooLarge(): boolean {
    return this.#isTooLarge;
  }

  read(limitBytes: number): Promise<Buffer> {
    if (this.#isTaken) return Promise.reject(taken());
    if (Number(this.#source.announced ?? 0) > limitBytes) return Promise.reject(this.#tooLarge(limitBytes));
    this.#isTaken = true;
    this.#begin();
    return this.#collect(limitBytes);
  }

  stream(): AsyncIterable<Buffer> {
    if (this.#isTaken) throw taken();
    this.#isTaken = true;
    this.#pieces = new BodyPieces(this.#source, () => this.#begin());
    return this.#pieces;
  }

  /**
   * Called when the response has been sent. If the handler has read only a part of the body, the rest is discarded, so
   * that the client is not blocked.
   */
  abandon(): void {
    this.#pieces?.abandon();
  }

  #tooLarge(limitBytes: number): BodyTooLargeError {
    this.#isTooLarge = true;
    return tooLarge(limitBytes);
  }

  #begin(): void {
    this.#untouched = false;
    this.#source.onRead();
  }

  #collect(limitBytes: number): Promise<Buffer> {
    const { stream, timeoutMs, isComplete } = this.#source;
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const stop = (): void => {
        clearTimeout(timer);
        stream.off("data", onData);
        stream.off("end", onEnd);
        stream.off("error", onGone);
        stream.off("close", onGone);
      };
      const giveUp = (reason: Error): void => {
        stop();
        // A flowing stream without a listener discards its data. A paused stream would block the connection forever.
        stream.resume();
        reject(reason);
      };
      const onData = (chunk: Buffer): void => {
        bytes += chunk.length;
        if (bytes > limitBytes) giveUp(this.#tooLarge(limitBytes));
        else chunks.push(chunk);
      };
      const onEnd = (): void => {
        if (!isComplete()) return onGone();
        stop();
        resolve(chunks.length === 0 ? EMPTY : joined(chunks));
      };
      const onGone = (): void => giveUp(clientLeft());
      const timer = setTimeout(() => giveUp(tooSlow()), timeoutMs);
      if (stream.destroyed) return onGone();
      stream.on("end", onEnd);
      stream.on("error", onGone);
      stream.on("close", onGone);
      stream.on("data", onData);
    });
  }
}

/** The body piece by piece. It is not a generator, because `return` of a generator waits for a pending `next`. */
class BodyPieces implements AsyncIterableIterator<Buffer, undefined> {
  readonly #source: BodyStream;
  readonly #onBegin: () => void;
  #state: "untouched" | "reading" | "over" = "untouched";
  /** The error with which the next call of `next` rejects; undefined if the body has ended normally. */
  #failure: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;

  constructor(source: BodyStream, onBegin: () => void) {
    this.#source = source;
    this.#onBegin = onBegin;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Buffer, undefined>> {
    if (this.#wake !== undefined)
      throw new Error("the previous read of the request body has not finished; read one piece at a time");
    if (this.#state === "untouched") this.#begin();
    for (;;) {
      if (this.#state === "over") {
        const failure = this.#failure;
        this.#failure = undefined;
        if (failure !== undefined) throw failure;
        return { done: true, value: undefined };
      }
      const piece = this.#source.stream.read() as Buffer | null;
      if (piece !== null) return { done: false, value: piece };
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }

  async return(): Promise<IteratorResult<Buffer, undefined>> {
    this.#stop(undefined);
    return { done: true, value: undefined };
  }

  abandon(): void {
    this.#stop(new Error("the response was sent before the request body was read"));
  }

  #begin(): void {
    const { stream, timeoutMs } = this.#source;
    this.#state = "reading";
    this.#onBegin();
    this.#timer = setTimeout(() => this.#stop(tooSlow()), timeoutMs);
    if (stream.destroyed) return this.#stop(clientLeft());
    stream.on("readable", this.#onReadable);
    stream.on("end", this.#onEnd);
    stream.on("error", this.#onGone);
    stream.on("close", this.#onGone);
  }

  #stop(failure: Error | undefined): void {
    if (this.#state === "over") return;
    const { stream } = this.#source;
    const hasBegun = this.#state === "reading";
    this.#state = "over";
    this.#failure = failure;
    // If reading has not begun, the protocol discards the body.
    if (!hasBegun) return;
    clearTimeout(this.#timer);
    stream.off("readable", this.#onReadable);
    stream.off("end", this.#onEnd);
    stream.off("error", this.#onGone);
    stream.off("close", this.#onGone);
    // Discards the rest of the body.
    stream.resume();
    this.#wake?.();
  }

  readonly #onReadable = (): void => this.#wake?.();
  readonly #onEnd = (): void => this.#stop(this.#source.isComplete() ? undefined : clientLeft());
  readonly #onGone = (): void => this.#stop(clientLeft());
}

/** This error and the next one are caused by the client, not by this server. */
function clientLeft(): Error {
  return badRequest("the client disconnected before its request was complete");
}

function tooSlow(): Error {
  return badRequest("the request body did not arrive in time");
}

function taken(): Error {
  return new Error("the request body can be read only once");
}

function tooLarge(limitBytes: number): BodyTooLargeError {
  return new BodyTooLargeError(`the request body is larger than ${limitBytes} bytes`);
}

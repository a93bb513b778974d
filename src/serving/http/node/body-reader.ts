import type { Readable } from "node:stream";

import { BodyTooLargeError, type RequestBody } from "../message.ts";
import { joined } from "./chunks.ts";
import { badRequest } from "../../../meta/status-error.ts";

const EMPTY = Buffer.alloc(0);

interface BodyStream {
  readonly stream: Readable;
  /** The content-length header, when there is one. */
  readonly announced: string | undefined;
  /** The whole body must have arrived this long after its reader began. */
  readonly timeoutMs: number;
  /** Whether the end of the stream is that of the body: Node also ends the stream when the client has reset it. */
  readonly isComplete: () => boolean;
  /** Called when the body is about to be read: the moment to send `100 Continue`. */
  readonly onRead: () => void;
}

/** Holds nothing and reads nothing until somebody reads; what is never read, the protocol discards. */
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

  /** Nobody wants the rest, however long that is. */
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

  /** The request has been answered: who streams the body and has stopped half-way must not keep the client waiting. */
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
        // Flowing without a listener discards; a paused stream would block the connection for good.
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

/**
 * The body piece by piece. Not a generator, because a generator that waits for the next piece cannot be left: its
 * `return` would wait as well.
 */
class BodyPieces implements AsyncIterableIterator<Buffer, undefined> {
  readonly #source: BodyStream;
  readonly #onBegin: () => void;
  #state: "untouched" | "reading" | "over" = "untouched";
  /** What a `next` rejects with after the end; undefined when the end is the body's. */
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
    if (this.#wake !== undefined) throw new Error("the request body is read by one reader, one piece at a time");
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
    this.#stop(new Error("the request was answered before its body was read"));
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
    // A body that nobody has touched is the protocol's to discard.
    if (!hasBegun) return;
    clearTimeout(this.#timer);
    stream.off("readable", this.#onReadable);
    stream.off("end", this.#onEnd);
    stream.off("error", this.#onGone);
    stream.off("close", this.#onGone);
    // What is left, if anything, is discarded.
    stream.resume();
    this.#wake?.();
  }

  readonly #onReadable = (): void => this.#wake?.();
  readonly #onEnd = (): void => this.#stop(this.#source.isComplete() ? undefined : clientLeft());
  readonly #onGone = (): void => this.#stop(clientLeft());
}

/** The client's doing, both: nothing here has failed. */
function clientLeft(): Error {
  return badRequest("the client left before its request was complete");
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

import type { Readable } from "node:stream";

import { BodyTooLargeError, type RequestBody } from "../message.ts";
import { joined } from "./chunks.ts";

const EMPTY = Buffer.alloc(0);

/** The body of a request that was sent without one. */
export const EMPTY_BODY: RequestBody = { read: () => Promise.resolve(EMPTY) };

export interface BodySource {
  readonly stream: Readable;
  /** The content-length header, when there is one. */
  readonly announced: string | undefined;
  readonly timeoutMs: number;
  /** Called when the body is about to be read: the moment to send `100 Continue`. */
  readonly onRead: () => void;
}

/** Holds nothing and reads nothing until `read` is called; what is never read, the protocol discards. */
export class BodyReader implements RequestBody {
  readonly #source: BodySource;
  #untouched = true;

  constructor(source: BodySource) {
    this.#source = source;
  }

  get untouched(): boolean {
    return this.#untouched;
  }

  read(limitBytes: number): Promise<Buffer> {
    if (!this.#untouched) return Promise.reject(new Error("the request body can be read only once"));
    if (Number(this.#source.announced ?? 0) > limitBytes) return Promise.reject(tooLarge(limitBytes));
    this.#untouched = false;
    this.#source.onRead();
    return this.#collect(limitBytes);
  }

  #collect(limitBytes: number): Promise<Buffer> {
    const { stream, timeoutMs } = this.#source;
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
        if (bytes > limitBytes) giveUp(tooLarge(limitBytes));
        else chunks.push(chunk);
      };
      const onEnd = (): void => {
        stop();
        resolve(chunks.length === 0 ? EMPTY : joined(chunks));
      };
      const onGone = (): void => giveUp(new Error("the client left before its request was complete"));
      const timer = setTimeout(() => giveUp(new Error("the request body did not arrive in time")), timeoutMs);
      if (stream.destroyed) return onGone();
      stream.on("end", onEnd);
      stream.on("error", onGone);
      stream.on("close", onGone);
      stream.on("data", onData);
    });
  }
}

function tooLarge(limitBytes: number): BodyTooLargeError {
  return new BodyTooLargeError(`the request body is larger than ${limitBytes} bytes`);
}

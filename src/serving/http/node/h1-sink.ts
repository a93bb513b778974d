/**
 * The stream sink of HTTP/1.1. It writes frames to the socket in chunked encoding, which is computed once per frame
 * instead of once per client. Node also writes to this socket. The two never interleave within a frame, because each
 * frame is one synchronous write.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

import type { StreamFrame, StreamSink } from "../message.ts";
import type { ServedExchange } from "./exchange.ts";

export class Http1Sink implements StreamSink {
  readonly #exchange: ServedExchange;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #drainCallbacks: (() => void)[] = [];
  #isFull = false;
  #ended = false;

  constructor(exchange: ServedExchange, request: IncomingMessage, response: ServerResponse) {
    this.#exchange = exchange;
    this.#request = request;
    this.#response = response;
    const { socket } = request;
    const onDrain = (): void => this.#onDrain();
    // The response emits `drain` only after its own `write`, so this sink listens to the socket.
    socket.on("drain", onDrain);
    response.on("drain", onDrain);
    // Other requests may reuse the socket.
    exchange.onOver(() => socket.off("drain", onDrain));
  }

  write(frame: StreamFrame): boolean {
    if (this.#ended || this.#exchange.over || frame.bytes.length === 0) return true;
    this.#exchange.frameWritten();
    const response = this.#response;
    const { socket } = response;
    // The response has no socket while an earlier pipelined response is being sent. HTTP/1.0 has no chunked encoding.
    // In both cases Node frames the bytes.
    const taken =
      socket === null || !response.chunkedEncoding
        ? response.write(frame.bytes)
        : socket.write((frame.chunked ??= chunkOf(frame.bytes)));
    if (!taken) this.#isFull = true;
    return taken;
  }

  bufferedBytes(): number {
    return this.#response.writableLength;
  }

  onDrain(callback: () => void): void {
    this.#drainCallbacks.push(callback);
  }

  onClose(callback: () => void): void {
    this.#exchange.onOver(callback);
  }

  end(): void {
    if (this.#ended || this.#exchange.over) return;
    this.#ended = true;
    this.#response.end();
  }

  abort(): void {
    if (this.#exchange.over) return;
    this.#ended = true;
    this.#request.socket.destroy();
  }

  #onDrain(): void {
    if (!this.#isFull || this.#ended) return;
    this.#isFull = false;
    for (const callback of this.#drainCallbacks) this.#exchange.call(callback);
  }
}

const CRLF = "\r\n";

function chunkOf(bytes: Buffer): Buffer {
  const size = bytes.length.toString(16) + CRLF;
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + CRLF.length);
  chunk.write(size, 0, "latin1");
  bytes.copy(chunk, size.length);
  chunk.write(CRLF, size.length + bytes.length, "latin1");
  return chunk;
}

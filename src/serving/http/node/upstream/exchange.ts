/**
 * One request to another server and its response. An exchange waits for a connection, uses it, and ends exactly once:
 * either the response is complete and the connection is given back, or a failure destroys the connection. Before the
 * response has been returned, a failure rejects the caller's promise; after that, it aborts the response stream.
 */
import type { ResponseBody } from "../../message.ts";
import { UpstreamError, type UpstreamFailure, type UpstreamMessage, type UpstreamResponse } from "../../upstream.ts";
import { ResponseStream } from "./response-stream.ts";
import { BodySender } from "./body-sender.ts";
import type { UpstreamConnection, ConnectionUser } from "./connection.ts";
import { isCertificateAlert } from "./dial.ts";
import { SMALL_RESPONSE_BYTES } from "./upstream-limits.ts";
import type { ResponseHead } from "./response-head.ts";
import { ResponseReader } from "./response-reader.ts";
import { join } from "./upgrade.ts";

interface SentExchangeParts {
  readonly request: UpstreamMessage;
  readonly authority: string;
  /** The head of the request as sent. */
  readonly head: string;
  readonly resolve: (response: UpstreamResponse) => void;
  readonly reject: (error: UpstreamError) => void;
  /** Gives back a connection that can serve the next request. */
  readonly release: (connection: UpstreamConnection, head: ResponseHead) => void;
}

export class SentExchange implements ConnectionUser {
  readonly #parts: SentExchangeParts;
  readonly #reader: ResponseReader;
  readonly #onAbort: () => void;
  #connection: UpstreamConnection | undefined;
  #sender: BodySender | undefined;
  #stream: ResponseStream | undefined;
  #cancelConnecting: ((reason: UpstreamError) => void) | undefined;
  #isSent = false;
  #isDelivered = false;
  #isOver = false;

  constructor(parts: SentExchangeParts) {
    const { request } = parts;
    this.#parts = parts;
    this.#reader = new ResponseReader({ isHead: request.method === "HEAD", isUpgrade: request.isUpgrade });
    this.#onAbort = () => this.#fail("aborted", "the request was aborted", request.signal.reason);
    if (request.signal.aborted) this.#onAbort();
    else request.signal.addEventListener("abort", this.#onAbort);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Called while a connection is being made for this exchange. If the exchange ends first, `cancel` cancels the
   * attempt.
   */
  whileConnecting(cancel: (reason: UpstreamError) => void): void {
    this.#cancelConnecting = cancel;
  }

  start(connection: UpstreamConnection): void {
    const { request, head } = this.#parts;
    this.#cancelConnecting = undefined;
    this.#connection = connection;
    connection.use(this);
    if (connection.socket.destroyed) return this.onGone(undefined);
    this.#isSent = true;
    if (request.body === undefined) {
      connection.socket.write(head, "latin1");
      return;
    }
    this.#sender = new BodySender({
      socket: connection.socket,
      head,
      body: request.body,
      contentLength: request.contentLength,
      onFailed: (error) => this.#fail("aborted", "the request body broke off", error),
    });
    void this.#sender.run();
  }

  /** Fails the exchange before it has a connection. */
  failBeforeConnection(error: UpstreamError): void {
    this.#failWith(error);
  }

  onData(bytes: Buffer): void {
    const reader = this.#reader;
    try {
      reader.push(bytes);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      this.#failWith(error);
      return;
    }
    const { head } = reader;
    if (head === undefined) return;
    if (head.status === 101) this.#upgrade(head);
    else if (reader.isComplete) this.#complete(head);
    else if (this.#stream !== undefined) this.#stream.write(reader.takePieces());
    else this.#onIncomplete(head);
  }

  onEnd(): void {
    const reader = this.#reader;
    reader.finish();
    if (reader.isComplete && reader.head !== undefined) this.#complete(reader.head);
    else this.onGone(undefined);
  }

  onDrain(): void {
    this.#sender?.onDrain();
  }

  onGone(cause: Error | undefined): void {
    const { authority } = this.#parts;
    if (this.#connection?.isFresh === true && this.#reader.head === undefined && isCertificateAlert(cause)) {
      // The server has rejected the handshake, so it has not read the request, which follows the handshake.
      this.#isSent = false;
      return this.#fail("tls", `${authority} rejected the client certificate: ${cause?.message.trim()}`, cause);
    }
    const reason = cause === undefined ? "" : `: ${cause.message.trim()}`;
    this.#fail("reset", `the connection to ${authority} ended before the response${reason}`, cause);
  }

  /** Buffers a small response of known length. Other responses are passed to their reader as they arrive. */
  #onIncomplete(head: ResponseHead): void {
    // A server that rejects the request or closes the connection will not read the rest of the body.
    if (head.status >= 400 || !head.isReusable) this.#sender?.stop();
    if (head.framing === "length" && head.contentLength <= SMALL_RESPONSE_BYTES) return;
    const { socket } = this.#connection!;
    this.#stream = new ResponseStream(
      {
        pause: () => void socket.pause(),
        resume: () => void socket.resume(),
        cancel: () => this.#fail("aborted", "the reader of the response has gone", undefined),
      },
      this.#reader.takePieces(),
    );
    this.#deliver(head, this.#stream.body());
  }

  #complete(head: ResponseHead): void {
    const connection = this.#connection!;
    const stream = this.#stream;
    const pieces = this.#reader.takePieces();
    this.#leave();
    const isClean = this.#reader.rest.length === 0 && connection.socket.writableLength === 0;
    connection.giveBack();
    if (isClean && head.isReusable && !this.#parts.request.isUpgrade && this.#sender?.isDone !== false) {
      this.#parts.release(connection, head);
    } else {
      connection.destroy();
    }
    if (stream === undefined) {
      this.#deliver(head, pieces.length === 0 ? { kind: "none" } : { kind: "bytes", chunks: pieces });
    } else {
      stream.write(pieces);
      stream.end();
    }
  }

  #upgrade(head: ResponseHead): void {
    const connection = this.#connection!;
    const socket = connection.surrender();
    const firstBytes = this.#reader.rest;
    this.#deliver(head, {
      kind: "upgrade",
      open: (client) => {
        if (client === undefined) connection.destroy();
        else join(socket, client, firstBytes);
      },
    });
  }

  #deliver(head: ResponseHead, body: ResponseBody): void {
    this.#isDelivered = true;
    this.#parts.resolve({ status: head.status, headers: head.headers, body });
  }

  #fail(failure: UpstreamFailure, message: string, cause: unknown): void {
    if (this.#isOver) return;
    this.#failWith(new UpstreamError(failure, message, { isSent: this.#isSent, cause }));
  }

  #failWith(error: UpstreamError): void {
    if (this.#isOver) return;
    this.#leave();
    this.#cancelConnecting?.(error);
    this.#connection?.destroy(error);
    this.#stream?.break();
    if (!this.#isDelivered) this.#parts.reject(error);
  }

  #leave(): void {
    this.#isOver = true;
    this.#parts.request.signal.removeEventListener("abort", this.#onAbort);
    this.#sender?.stop();
  }
}

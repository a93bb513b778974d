/** Sends a request to another server. */
import type { Writable } from "node:stream";

interface SendParts {
  readonly socket: Writable;
  /** The head of the request as sent. */
  readonly head: string;
  readonly body: AsyncIterable<Buffer>;
  /** The length of the body; undefined if it is sent in chunked encoding. */
  readonly contentLength: number | undefined;
  /** Called at most once, if the body breaks off or does not have the announced length. */
  readonly onFailed: (error: unknown) => void;
}

/**
 * Sends the head and the body of a request, one piece at a time as the server accepts them. The head is sent together
 * with the first piece if that is already available, and otherwise does not wait for it.
 */
export class BodySender {
  /** True when the whole body has been written. */
  isDone = false;
  readonly #parts: SendParts;
  readonly #iterator: AsyncIterator<Buffer>;
  #isStopped = false;
  #isHeadHeld = true;
  #sent = 0;
  #wake: (() => void) | undefined;

  constructor(parts: SendParts) {
    this.#parts = parts;
    this.#iterator = parts.body[Symbol.asyncIterator]();
  }

  async run(): Promise<void> {
    const { socket, head, contentLength, onFailed } = this.#parts;
    socket.cork();
    socket.write(head, "latin1");
    setImmediate(() => this.#releaseHead());
    try {
      await this.#sendPieces();
      if (this.#isStopped) return;
      if (this.#sent !== (contentLength ?? this.#sent)) throw new Error("the request body is shorter than announced");
      if (contentLength === undefined) socket.write("0\r\n\r\n", "latin1");
      this.isDone = true;
      this.#releaseHead();
    } catch (error) {
      if (this.#isStopped) return;
      this.stop();
      onFailed(error);
    }
  }

  /** Stops reading and writing the body. */
  stop(): void {
    if (this.#isStopped || this.isDone) return;
    this.#isStopped = true;
    this.#releaseHead();
    this.onDrain();
    // The producer of the body may still wait for its next piece, so this promise is not awaited.
    void Promise.resolve(this.#iterator.return?.()).catch(() => undefined);
  }

  onDrain(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  async #sendPieces(): Promise<void> {
    for (;;) {
      const step = await this.#iterator.next();
      if (this.#isStopped || step.done === true) return;
      // An empty chunk is skipped, because it would end the body.
      if (step.value.length === 0) continue;
      const hasRoom = this.#write(step.value);
      if (!hasRoom) await this.#drained();
      if (this.#isStopped) return;
    }
  }

  #write(piece: Buffer): boolean {
    const { socket, contentLength } = this.#parts;
    this.#sent += piece.length;
    if (this.#sent > (contentLength ?? this.#sent)) throw new Error("the request body is longer than announced");
    if (contentLength !== undefined) {
      const hasRoom = socket.write(piece);
      this.#releaseHead();
      return hasRoom;
    }
    socket.cork();
    socket.write(`${piece.length.toString(16)}\r\n`, "latin1");
    socket.write(piece);
    const hasRoom = socket.write("\r\n", "latin1");
    socket.uncork();
    this.#releaseHead();
    return hasRoom;
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #releaseHead(): void {
    if (!this.#isHeadHeld) return;
    this.#isHeadHeld = false;
    this.#parts.socket.uncork();
  }
}

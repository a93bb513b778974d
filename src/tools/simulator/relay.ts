/**
 * Carries a streamed response from the server that writes it to the server that reads it, frame by frame and in order.
 * The writer's end is a sink like that of any transport; the reader's end is the same as for real connections.
 */
import type { StreamFrame, ResponseBody, StreamSink } from "../../serving/http/message.ts";
import { ResponseStream } from "../../serving/http/node/upstream/response-stream.ts";

interface RelayPath {
  /** Carries a message to the reader, in order. */
  toReader(deliver: () => void): void;
  /** Carries a message to the writer. */
  toWriter(deliver: () => void): void;
  /** Called when the stream has ended at the reader's end, whichever side ended it. */
  onOver(): void;
}

/** Maximum number of bytes in transit before the writer must wait. */
const UNDER_WAY_BYTES_MAX = 64 * 1024;

export class Relay {
  readonly #path: RelayPath;
  readonly #reader: ResponseStream;
  #isPaused = false;
  /** Whether the stream has ended at the reader's and at the writer's end. */
  #isRead = false;
  #isWritten = false;
  #bytesUnderWay = 0;
  /** Frames at the reader's end that are not consumed yet. */
  #arrived: (() => void)[] = [];
  readonly #onClose: (() => void)[] = [];
  readonly #onDrain: (() => void)[] = [];

  constructor(path: RelayPath) {
    this.#path = path;
    this.#reader = new ResponseStream(
      {
        pause: () => {
          this.#isPaused = true;
        },
        resume: () => this.#resume(),
        cancel: () => this.close(),
      },
      [],
    );
  }

  body(): ResponseBody {
    return this.#reader.body();
  }

  /** The writer's end. */
  sink(): StreamSink {
    return {
      write: (frame) => this.#write(frame),
      bufferedBytes: () => this.#bytesUnderWay,
      onDrain: (callback) => void this.#onDrain.push(callback),
      onClose: (callback) => (this.#isWritten ? callback() : void this.#onClose.push(callback)),
      end: () => this.#finish(() => this.#reader.end()),
      abort: () => this.#finish(() => this.#reader.break()),
    };
  }

  /** The reader is done; the writer is notified after the delay of the link. */
  close(): void {
    if (this.#isRead) return;
    this.#readerIsDone();
    this.#path.toWriter(() => this.#writerIsDone());
  }

  /** Breaks the connection; both ends are notified. */
  cut(): void {
    if (this.#isRead) return;
    this.close();
    this.#reader.break();
  }

  #write(frame: StreamFrame): boolean {
    if (this.#isWritten) return false;
    this.#bytesUnderWay += frame.bytes.length;
    this.#path.toReader(() =>
      this.#arrive(() => {
        const wasFull = this.#bytesUnderWay > UNDER_WAY_BYTES_MAX;
        this.#bytesUnderWay -= frame.bytes.length;
        this.#reader.write([frame.bytes]);
        if (wasFull && this.#bytesUnderWay <= UNDER_WAY_BYTES_MAX)
          this.#path.toWriter(() => this.#onDrain.forEach((callback) => callback()));
      }),
    );
    return this.#bytesUnderWay <= UNDER_WAY_BYTES_MAX;
  }

  #finish(deliver: () => void): void {
    if (this.#isWritten) return;
    this.#writerIsDone();
    this.#path.toReader(() =>
      this.#arrive(() => {
        this.#readerIsDone();
        deliver();
      }),
    );
  }

  #readerIsDone(): void {
    this.#isRead = true;
    this.#path.onOver();
  }

  #writerIsDone(): void {
    if (this.#isWritten) return;
    this.#isWritten = true;
    for (const callback of this.#onClose) callback();
  }

  #arrive(take: () => void): void {
    if (this.#isRead) return;
    if (this.#isPaused) this.#arrived.push(take);
    else take();
  }

  #resume(): void {
    this.#isPaused = false;
    const arrived = this.#arrived;
    this.#arrived = [];
    for (const take of arrived) this.#arrive(take);
  }
}

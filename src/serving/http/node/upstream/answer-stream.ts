import type { ResponseBody, StreamSink } from "../../message.ts";

/** What a stream may do to the connection it comes from. */
interface StreamControl {
  pause(): void;
  resume(): void;
  /** The reader has gone before the end. */
  cancel(): void;
}

/**
 * An answer on its way from a connection to its reader, at the reader's pace: what the reader has not taken stays with
 * the server. Begins paused, with what had arrived together with the head.
 */
export class AnswerStream {
  readonly #flow: StreamControl;
  #held: Buffer[];
  #sink: StreamSink | undefined;
  #state: "flowing" | "ended" | "broken" = "flowing";

  constructor(flow: StreamControl, first: Buffer[]) {
    this.#flow = flow;
    this.#held = first;
    flow.pause();
  }

  body(): ResponseBody {
    return { kind: "stream", open: (sink) => this.#open(sink) };
  }

  write(pieces: readonly Buffer[]): void {
    const sink = this.#sink;
    if (sink === undefined) {
      this.#held.push(...pieces);
    } else if (!writeAll(sink, pieces)) {
      this.#flow.pause();
    }
  }

  /** The answer is complete. */
  end(): void {
    if (this.#state !== "flowing") return;
    this.#state = "ended";
    this.#sink?.end();
  }

  /** The rest of the answer will not come. */
  break(): void {
    if (this.#state !== "flowing") return;
    this.#state = "broken";
    this.#held = [];
    this.#sink?.abort();
  }

  #open(sink: StreamSink): void {
    if (this.#state === "broken") return sink.abort();
    this.#sink = sink;
    sink.onClose(() => {
      if (this.#state === "flowing") this.#flow.cancel();
    });
    sink.onDrain(() => {
      if (this.#state === "flowing") this.#flow.resume();
    });
    const hasRoom = writeAll(sink, this.#held);
    this.#held = [];
    if (this.#state === "ended") sink.end();
    else if (hasRoom) this.#flow.resume();
  }
}

function writeAll(sink: StreamSink, pieces: readonly Buffer[]): boolean {
  let hasRoom = true;
  for (const bytes of pieces) hasRoom = sink.write({ bytes });
  return hasRoom;
}

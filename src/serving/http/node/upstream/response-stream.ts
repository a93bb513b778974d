/** Streams the response of another server to its reader. */
import type { ResponseBody, StreamSink } from "../../message.ts";

/** The functions by which a stream controls its connection. */
interface StreamControl {
  pause(): void;
  resume(): void;
  /** Called when the reader disconnects before the end. */
  cancel(): void;
}

/**
 * Passes a response from its connection to its reader. The reader determines the speed: bytes that it has not taken are
 * not read from the server. The stream starts paused, with the bytes that arrived together with the head.
 */
export class ResponseStream {
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

  /** Called when the response is complete. */
  end(): void {
    if (this.#state !== "flowing") return;
    this.#state = "ended";
    this.#sink?.end();
  }

  /** Called when the rest of the response will not arrive. */
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

/**
 * Tracks the open requests and watches of clients, so that a shutdown can wait for the requests and end the watches.
 * Only requests that call `through` are tracked.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import type { ApiResponse, StreamFrame, StreamSink } from "./message.ts";

export type RequestKind =
  | "short"
  | "watch"
  /** A request that has no end of its own and that the server cannot end cleanly, such as exec. */
  | "endless";

interface WatchesEnd {
  readonly clock: Clock;
  /**
   * Time over which watches are ended. If it is 0, all end at once, and the server does not wait until the clients have
   * read the end.
   */
  readonly graceMs: number;
}

/**
 * The minimum rate at which watches are ended, as in kube-apiserver: a lower rate would prolong the shutdown
 * needlessly.
 */
const WATCHES_PER_SECOND_MIN = 200;
/** Interval in which watches are ended. At several thousand per second, several end in the same interval. */
const TICK_MS = 10;

export class OpenRequests {
  readonly #watches = new Set<WatchSink>();
  readonly #onChange = new Set<() => void>();
  #unfinished = 0;
  #haveWatchesEnded = false;

  /** Number of requests for which a shutdown waits. Open watches are not among them. */
  get answering(): number {
    return this.#unfinished;
  }

  get watches(): number {
    return this.#watches.size;
  }

  async through(kind: RequestKind, answer: () => Promise<ApiResponse>): Promise<ApiResponse> {
    this.#unfinished++;
    let response: ApiResponse;
    try {
      response = await answer();
    } catch (thrown) {
      this.#requestEnded();
      throw thrown;
    }
    const { body } = response;
    if (body.kind !== "stream" || kind === "endless") {
      this.#requestEnded();
      return response;
    }
    const open = (sink: StreamSink): void => {
      if (kind === "watch") return this.#openWatch(body.open, sink);
      sink.onClose(() => this.#requestEnded());
      body.open(sink);
    };
    return { ...response, body: { kind: "stream", open } };
  }

  /** Ends watches and waits for requests. Returns false if a request is still open at the limit. */
  async drain({ clock, graceMs, limitMs }: WatchesEnd & { readonly limitMs: number }): Promise<boolean> {
    const watchesEnded = this.endWatches({ clock, graceMs });
    const isDrained = await this.#until(() => this.#unfinished === 0, { clock, limitMs });
    await watchesEnded;
    return isDrained;
  }

  /** Ends the watches evenly over the grace period. Resolves when all watches are closed or the period has passed. */
  async endWatches({ clock, graceMs }: WatchesEnd): Promise<void> {
    const endsAtMs = clock.monotonic() + graceMs;
    if (graceMs > 0) await this.#endEvenly(clock, graceMs);
    this.#haveWatchesEnded = true;
    for (const watch of this.#watches) watch.leave();
    const limitMs = endsAtMs - clock.monotonic();
    if (limitMs > 0) await this.#until(() => this.#watches.size === 0, { clock, limitMs });
  }

  async #endEvenly(clock: Clock, graceMs: number): Promise<void> {
    const watches = [...this.#watches];
    const perMs = Math.max(WATCHES_PER_SECOND_MIN / 1000, watches.length / graceMs);
    const startedAtMs = clock.monotonic();
    for (let ended = 0; ended < watches.length;) {
      const due = 1 + Math.floor((clock.monotonic() - startedAtMs) * perMs);
      for (const watch of watches.slice(ended, due)) watch.leave();
      ended = Math.min(due, watches.length);
      if (ended < watches.length) await sleep(clock, Math.max(TICK_MS, 1 / perMs));
    }
  }

  #openWatch(open: (sink: StreamSink) => void, sink: StreamSink): void {
    const watch = new WatchSink(sink);
    this.#watches.add(watch);
    sink.onClose(() => {
      this.#watches.delete(watch);
      this.#changed();
    });
    this.#requestEnded();
    open(watch);
    if (this.#haveWatchesEnded) watch.leave();
  }

  #requestEnded(): void {
    this.#unfinished--;
    this.#changed();
  }

  #changed(): void {
    for (const check of this.#onChange) check();
  }

  #until(condition: () => boolean, within: { readonly clock: Clock; readonly limitMs: number }): Promise<boolean> {
    if (condition()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (isMet: boolean): void => {
        cancel();
        this.#onChange.delete(check);
        resolve(isMet);
      };
      const check = (): void => {
        if (condition()) settle(true);
      };
      const cancel = within.clock.after(within.limitMs, () => settle(false));
      this.#onChange.add(check);
    });
  }
}

const NEWLINE = 0x0a;

/** A sink that the shutdown can end without splitting an event. */
class WatchSink implements StreamSink {
  readonly #sink: StreamSink;
  #onEnding: (() => void) | undefined;
  /**
   * True if the last written byte ended an event. Each event is a line, but the stream of a peer arrives in pieces of
   * any size.
   */
  #isBetweenEvents = true;
  #shallEnd = false;

  constructor(sink: StreamSink) {
    this.#sink = sink;
  }

  leave(): void {
    if (this.#onEnding !== undefined) this.#onEnding();
    else if (this.#isBetweenEvents) this.#sink.end();
    else this.#shallEnd = true;
  }

  write(frame: StreamFrame): boolean {
    // A writer that ends its stream itself writes whole events.
    if (this.#onEnding !== undefined) return this.#sink.write(frame);
    const { bytes } = frame;
    const isTaken = this.#sink.write(frame);
    if (bytes.length > 0) this.#isBetweenEvents = bytes[bytes.length - 1] === NEWLINE;
    if (this.#shallEnd && this.#isBetweenEvents) this.#sink.end();
    return isTaken;
  }

  bufferedBytes(): number {
    return this.#sink.bufferedBytes();
  }

  onDrain(callback: () => void): void {
    this.#sink.onDrain(callback);
  }

  onClose(callback: () => void): void {
    this.#sink.onClose(callback);
  }

  onEnding(callback: () => void): void {
    this.#onEnding = callback;
  }

  end(): void {
    this.#sink.end();
  }

  abort(): void {
    this.#sink.abort();
  }
}

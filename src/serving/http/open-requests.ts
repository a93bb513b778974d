/**
 * What clients have open here: requests that are being answered, and watches. A shutdown waits for the former and ends
 * the latter. Only those count that came `through` here.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import type { ApiResponse, StreamFrame, StreamSink } from "./message.ts";

export type RequestKind =
  | "short"
  | "watch"
  /** It has no end of its own, and none that could be given to it. */
  | "endless";

interface WatchesEnd {
  readonly clock: Clock;
  /** Over which time they are ended. 0: all at once, and nobody waits until their clients have read the end. */
  readonly graceMs: number;
}

/** As kube-apiserver: fewer would make a shutdown last longer than it has to. */
const WATCHES_PER_SECOND_MIN = 200;
/** Of several thousand a second, some end at the same time. */
const TICK_MS = 10;

export class OpenRequests {
  readonly #watches = new Set<WatchSink>();
  readonly #onChange = new Set<() => void>();
  #answering = 0;
  #haveWatchesEnded = false;

  /** Those that will end by themselves, soon. */
  get answering(): number {
    return this.#answering;
  }

  get watches(): number {
    return this.#watches.size;
  }

  async through(kind: RequestKind, answer: () => Promise<ApiResponse>): Promise<ApiResponse> {
    this.#answering++;
    let response: ApiResponse;
    try {
      response = await answer();
    } catch (thrown) {
      this.#answered();
      throw thrown;
    }
    const { body } = response;
    if (body.kind !== "stream" || kind === "endless") {
      this.#answered();
      return response;
    }
    const open = (sink: StreamSink): void => {
      if (kind === "watch") return this.#openWatch(body.open, sink);
      sink.onClose(() => this.#answered());
      body.open(sink);
    };
    return { ...response, body: { kind: "stream", open } };
  }

  /** Ends watches and waits for requests. False when some were still open at the limit. */
  async drain({ clock, graceMs, limitMs }: WatchesEnd & { readonly limitMs: number }): Promise<boolean> {
    const watchesEnded = this.endWatches({ clock, graceMs });
    const isDrained = await this.#until(() => this.#answering === 0, { clock, limitMs });
    await watchesEnded;
    return isDrained;
  }

  /** Evenly over the time. Resolves when they are closed, or the time has passed. */
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
    this.#answered();
    open(watch);
    if (this.#haveWatchesEnded) watch.leave();
  }

  #answered(): void {
    this.#answering--;
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

/** Can be ended from outside without cutting an event in two. */
class WatchSink implements StreamSink {
  readonly #sink: StreamSink;
  #onEnding: (() => void) | undefined;
  /** Each event is a line; what comes from a peer comes in pieces of any size. */
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

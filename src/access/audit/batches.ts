/** When events that wait are written, and how many at once, as the flags of batch mode say. */
import { sleep, type Cancel, type Clock } from "../../base/clock.ts";

export interface BatchOptions {
  /** So many events may wait; further ones are lost. */
  readonly bufferSize: number;
  /** So many make a batch. 1: nothing waits for others. */
  readonly sizeMax: number;
  /** A batch is not waited for any longer. */
  readonly waitMaxMs: number;
  /** Undefined: no limit of batches per second. */
  readonly throttle: { readonly perSecond: number; readonly burst: number } | undefined;
}

export class Batches<Item> {
  readonly #options: BatchOptions;
  readonly #clock: Clock;
  #timer: Cancel | undefined;
  readonly #hurry = new AbortController();
  #tokens: number;
  #tokensAtMs: number;

  constructor(options: BatchOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#tokens = options.throttle?.burst ?? 0;
    this.#tokensAtMs = clock.monotonic();
  }

  /** Otherwise `later` is called when the first of them has waited long enough. */
  isDue(waiting: number, later: () => void): boolean {
    if (waiting === 0) return false;
    const { sizeMax, waitMaxMs } = this.#options;
    if (this.#hurry.signal.aborted || sizeMax === 1 || waiting >= sizeMax) {
      this.#timer?.();
      this.#timer = undefined;
      return true;
    }
    this.#timer ??= this.#clock.after(waitMaxMs, () => {
      this.#timer = undefined;
      later();
    });
    return false;
  }

  take(items: readonly Item[]): readonly Item[] {
    const { sizeMax, throttle } = this.#options;
    // Nobody can tell one batch from two, unless they are counted.
    return sizeMax === 1 && throttle === undefined ? items : items.slice(0, sizeMax);
  }

  /** Resolves when the next batch may go. */
  async admitted(): Promise<void> {
    const { throttle } = this.#options;
    if (throttle === undefined || this.#hurry.signal.aborted) return;
    const { perSecond, burst } = throttle;
    const nowMs = this.#clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#tokensAtMs) / 1000) * perSecond);
    this.#tokensAtMs = nowMs;
    this.#tokens -= 1;
    if (this.#tokens < 0) await sleep(this.#clock, (-this.#tokens / perSecond) * 1000, this.#hurry.signal);
  }

  /** From now on nothing waits. */
  hurry(): void {
    this.#hurry.abort();
    this.#timer?.();
    this.#timer = undefined;
  }
}

/** Decides when waiting audit events are written, and how many at once, according to the --audit-log-batch flags. */
import { sleep, type Cancel, type Clock } from "../../base/clock.ts";

export interface BatchOptions {
  /** Maximum number of waiting events; further events are dropped. */
  readonly bufferSize: number;
  /** Maximum number of events per batch; 1 means that events are not batched. */
  readonly sizeMax: number;
  /** Maximum time that an event waits for its batch to fill. */
  readonly waitMaxMs: number;
  /** Undefined if the number of batches per second is not limited. */
  readonly throttle: { readonly perSecond: number; readonly burst: number } | undefined;
}

export class Batches<Item> {
  readonly #options: BatchOptions;
  readonly #clock: Clock;
  #timer: Cancel | undefined;
  readonly #flush = new AbortController();
  #tokens: number;
  #tokensAtMs: number;

  constructor(options: BatchOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#tokens = options.throttle?.burst ?? 0;
    this.#tokensAtMs = clock.monotonic();
  }

  /** True if a batch is due. Otherwise calls `later` when the oldest event has waited for the maximum time. */
  isDue(waiting: number, later: () => void): boolean {
    if (waiting === 0) return false;
    const { sizeMax, waitMaxMs } = this.#options;
    if (this.#flush.signal.aborted || sizeMax === 1 || waiting >= sizeMax) {
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
    // If batches are not throttled, waiting events can be written at once even if the batch size is 1, because the
    // result is the same.
    return sizeMax === 1 && throttle === undefined ? items : items.slice(0, sizeMax);
  }

  /** Resolves when the throttle allows the next batch. */
  async admitted(): Promise<void> {
    const { throttle } = this.#options;
    if (throttle === undefined || this.#flush.signal.aborted) return;
    const { perSecond, burst } = throttle;
    const nowMs = this.#clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#tokensAtMs) / 1000) * perSecond);
    this.#tokensAtMs = nowMs;
    this.#tokens -= 1;
    if (this.#tokens < 0) await sleep(this.#clock, (-this.#tokens / perSecond) * 1000, this.#flush.signal);
  }

  /** Ends the wait for full batches and for the throttle, for shutdown. */
  hurry(): void {
    this.#flush.abort();
    this.#timer?.();
    this.#timer = undefined;
  }
}

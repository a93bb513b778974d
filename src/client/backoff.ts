/**
 * Computes the wait after a failure: it doubles with every failure, and is the minimum again after some time without
 * failures.
 */
import { sleep, type Clock } from "../base/clock.ts";
import type { Random } from "../base/random.ts";
import { BACKOFF_MS_MAX, BACKOFF_MS_MIN, BACKOFF_RESET_MS } from "./client-limits.ts";

export class Backoff {
  readonly #clock: Clock;
  readonly #random: Random;
  #nextMs = BACKOFF_MS_MIN;
  #lastAt: number;

  constructor(options: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#lastAt = options.clock.monotonic();
  }

  /** Resolves to false if the signal aborted before the end of the wait. */
  async wait(signal: AbortSignal): Promise<boolean> {
    if (this.#clock.monotonic() - this.#lastAt > BACKOFF_RESET_MS) this.#nextMs = BACKOFF_MS_MIN;
    const waitMs = this.#nextMs * (1 + this.#random.float());
    this.#nextMs = Math.min(this.#nextMs * 2, BACKOFF_MS_MAX);
    const isOver = await sleep(this.#clock, waitMs, signal);
    this.#lastAt = this.#clock.monotonic();
    return isOver;
  }
}

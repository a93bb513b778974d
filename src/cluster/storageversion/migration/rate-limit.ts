import { sleep, type Clock } from "../../../base/clock.ts";

/** So many a second on average; those who come too early wait in the order in which they came. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #burstMs: number;
  #nextAtMs = -Infinity;

  constructor(clock: Clock, limits: { readonly perSecond: number; readonly burstMs: number }) {
    this.#clock = clock;
    this.#intervalMs = 1000 / limits.perSecond;
    this.#burstMs = limits.burstMs;
  }

  /** False when the signal aborted before the turn came. */
  take(signal: AbortSignal): Promise<boolean> | boolean {
    if (signal.aborted) return false;
    const nowMs = this.#clock.monotonic();
    const turnMs = Math.max(this.#nextAtMs, nowMs - this.#burstMs);
    this.#nextAtMs = turnMs + this.#intervalMs;
    return turnMs <= nowMs || sleep(this.#clock, turnMs - nowMs, signal);
  }
}

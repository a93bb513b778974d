import { sleep, type Clock } from "../../../base/clock.ts";

/** Limits the average rate per second. Callers above the limit wait in the order of their calls. */
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

  /** Returns or resolves to false if the signal aborted during the wait. */
  take(signal: AbortSignal): Promise<boolean> | boolean {
    if (signal.aborted) return false;
    const nowMs = this.#clock.monotonic();
    const turnMs = Math.max(this.#nextAtMs, nowMs - this.#burstMs);
    this.#nextAtMs = turnMs + this.#intervalMs;
    return turnMs <= nowMs || sleep(this.#clock, turnMs - nowMs, signal);
  }
}

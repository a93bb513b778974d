/** Measures the seat demand of a priority level over time. The demand determines the seats of the level. */

/** The period of one smoothing step. */
const ADJUSTMENT_MS = 10_000;
/** The part of an old demand that remains after one period; after five minutes, half of it remains. */
const SMOOTHING = 0.977;

export interface Demand {
  /** Highest demand since the last adjustment. */
  readonly highWatermark: number;
  /** The smoothed demand, which rises at once and falls slowly. */
  readonly smoothed: number;
}

export class SeatDemand {
  #seats = 0;
  #max = 0;
  #sinceMs: number;
  #changedMs: number;
  #integral = 0;
  #integralOfSquares = 0;
  #smoothed = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
    this.#changedMs = nowMs;
  }

  set(seats: number, nowMs: number): void {
    this.#advance(nowMs);
    this.#seats = seats;
    if (seats > this.#max) this.#max = seats;
  }

  /** Returns the demand since the last call, and starts a new period. */
  take(nowMs: number): Demand {
    this.#advance(nowMs);
    const elapsedMs = nowMs - this.#sinceMs;
    const highWatermark = this.#max;
    if (elapsedMs > 0) {
      const average = this.#integral / elapsedMs;
      const deviation = Math.sqrt(Math.max(this.#integralOfSquares / elapsedMs - average * average, 0));
      const envelope = average + deviation;
      const kept = SMOOTHING ** Math.max(elapsedMs / ADJUSTMENT_MS, 1);
      this.#smoothed = Math.max(envelope, kept * this.#smoothed + (1 - kept) * envelope);
    }
    this.#sinceMs = nowMs;
    this.#integral = 0;
    this.#integralOfSquares = 0;
    this.#max = this.#seats;
    return { highWatermark, smoothed: this.#smoothed };
  }

  #advance(nowMs: number): void {
    const elapsedMs = nowMs - this.#changedMs;
    this.#changedMs = nowMs;
    this.#integral += elapsedMs * this.#seats;
    this.#integralOfSquares += elapsedMs * this.#seats * this.#seats;
  }
}

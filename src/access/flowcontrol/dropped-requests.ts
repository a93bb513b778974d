/**
 * Computes the Retry-After header for rejected requests of a priority level. The value grows while the overload lasts.
 */

const RETRY_AFTER_SECONDS_MAX = 32;

export class DroppedRequests {
  #second = 0;
  #count = 0;
  /** The number of rejections in each second, oldest first, for at most as long as the largest Retry-After. */
  #history: { readonly second: number; readonly count: number }[] = [];
  #raisedSecond = 0;
  #retryAfter = 1;

  /** Records a rejected request and returns its Retry-After in seconds. */
  drop(nowMs: number): number {
    const second = Math.floor(nowMs / 1_000);
    if (second === this.#second) {
      this.#count++;
      return this.#retryAfter;
    }
    const oldest = this.#second - Math.min(2 * this.#retryAfter, RETRY_AFTER_SECONDS_MAX);
    this.#history.push({ second: this.#second, count: this.#count });
    this.#history = this.#history.filter((entry) => entry.second >= oldest);
    this.#second = second;
    this.#count = 1;
    this.#adjust(second);
    return this.#retryAfter;
  }

  #adjust(second: number): void {
    const before = this.#retryAfter;
    const dropped = this.#history
      .filter((entry) => second - entry.second <= before)
      .reduce((sum, { count }) => sum + count, 0);
    if (second - this.#raisedSecond >= before && dropped >= 3 * before) {
      this.#retryAfter = Math.min(2 * before, RETRY_AFTER_SECONDS_MAX);
      this.#raisedSecond = second;
    } else if (dropped < before && before > 1) {
      this.#retryAfter = before - 1;
    }
  }
}

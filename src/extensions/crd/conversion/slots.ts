/** Limits the number of concurrent calls. Further callers wait for a free slot, but only for a limited time. */
import type { Clock } from "../../../base/clock.ts";

export class Slots {
  readonly #clock: Clock;
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock, count: number) {
    this.#clock = clock;
    this.#free = count;
  }

  /**
   * Resolves to true when the caller has a slot, which it must `release`; to false if no slot became free within
   * `waitMs`.
   */
  take(waitMs: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const cancel = this.#clock.after(waitMs, () => {
        this.#waiting.delete(begin);
        resolve(false);
      });
      const begin = (): void => {
        cancel();
        resolve(true);
      };
      this.#waiting.add(begin);
    });
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}

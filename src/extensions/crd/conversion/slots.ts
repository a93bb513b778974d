/** Limits the number of concurrent calls; further callers wait for a limited time. */
import type { Clock } from "../../../base/clock.ts";

export class Slots {
  readonly #clock: Clock;
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock, count: number) {
    this.#clock = clock;
    this.#free = count;
  }

  /** False if no slot became free in this time; otherwise `release` must follow. */
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

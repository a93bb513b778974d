/** A timed wait that other code can end early, for loops that work at an interval and on demand. */
import { sleep, type Clock } from "./clock.ts";

/**
 * A wait that other code can end early. A wake without a waiter ends the next wait at once, so that no wake is lost.
 */
export class Wakeable {
  readonly #clock: Clock;
  #isDue = false;
  #current: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#isDue = true;
    this.#current?.abort();
  }

  async wait(delayMs: number, signal: AbortSignal): Promise<void> {
    if (!this.#isDue && !signal.aborted) {
      const current = new AbortController();
      this.#current = current;
      const stop = (): void => current.abort();
      signal.addEventListener("abort", stop, { once: true });
      await sleep(this.#clock, delayMs, current.signal);
      signal.removeEventListener("abort", stop);
      this.#current = undefined;
    }
    this.#isDue = false;
  }
}

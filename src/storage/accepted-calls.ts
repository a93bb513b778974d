/**
 * Tracks the calls that a store has accepted and not completed, so that closing the store waits for these calls and
 * rejects later ones. Without it the store could close its connection or file while a write is in flight.
 */
import { closedError } from "./kv-errors.ts";

export class AcceptedCalls {
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  run<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) return Promise.reject(closedError());
    const running = call();
    this.#running.add(running);
    const forget = (): void => void this.#running.delete(running);
    running.then(forget, forget);
    return running;
  }

  /** Rejects calls from now on. Resolves when all accepted calls have completed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
  }
}

/**
 * Counts the calls that a store has accepted and not completed, so that closing the store waits for these calls and
 * rejects later ones. Without it the store could close its connection or file while a write is in flight.
 */
import { closedError } from "./kv-errors.ts";

export class AcceptedCalls {
  #running = 0;
  #isClosed = false;
  #onAllCompleted: () => void = () => {};

  get isClosed(): boolean {
    return this.#isClosed;
  }

  run<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) return Promise.reject(closedError());
    const running = call();
    this.#running++;
    running.then(this.#completed, this.#completed);
    return running;
  }

  /** Rejects calls from now on. Resolves when all accepted calls have completed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#onAllCompleted = resolve));
  }

  readonly #completed = (): void => {
    this.#running--;
    if (this.#running === 0) this.#onAllCompleted();
  };
}

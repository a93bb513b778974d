/**
 * The calls that a store has accepted and not completed yet, so that closing the store waits for them and rejects later
 * calls. Without it a write could be in flight while its connection or file is closed.
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

  /** Rejects calls from now on; resolves when all accepted calls have completed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
  }
}

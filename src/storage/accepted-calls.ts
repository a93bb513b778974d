/**
 * The calls that a store has accepted and not answered yet, so that closing the store waits for them and rejects the
 * calls that come later. Without it a write could be under way while its connection or file is closed.
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

  /** Rejects calls from now on; resolves when those accepted before have been answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
  }
}

import type { Cancel, Clock } from "../base/clock.ts";

/** A signal that aborts with its parent, or when the time that was last set has passed. */
export class Deadline {
  readonly #clock: Clock;
  readonly #parent: AbortSignal | undefined;
  readonly #controller = new AbortController();
  readonly #abort = (): void => this.#controller.abort(this.#parent?.reason);
  #cancel: Cancel = () => {};
  isExpired = false;

  constructor(clock: Clock, parent: AbortSignal | undefined) {
    this.#clock = clock;
    this.#parent = parent;
    if (parent?.aborted === true) this.#abort();
    else parent?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the time anew. */
  set(delayMs: number): void {
    this.#cancel();
    this.#cancel = this.#clock.after(delayMs, () => {
      this.isExpired = true;
      this.#controller.abort();
    });
  }

  /** Removes the listener; otherwise a long-lived parent would keep every deadline it ever had. */
  [Symbol.dispose](): void {
    this.#cancel();
    this.#parent?.removeEventListener("abort", this.#abort);
  }
}

import type { Cancel, Clock } from "../base/clock.ts";

/** A signal that aborts when its parent aborts, or when the delay of the last call of `set` has passed. */
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

  /** Replaces the current delay by a new one, counted from now. */
  set(delayMs: number): void {
    this.#cancel();
    this.#cancel = this.#clock.after(delayMs, () => {
      this.isExpired = true;
      this.#controller.abort();
    });
  }

  /** Removes the listener; otherwise a long-lived parent would keep a reference to every deadline. */
  [Symbol.dispose](): void {
    this.#cancel();
    this.#parent?.removeEventListener("abort", this.#abort);
  }
}

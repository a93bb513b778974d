/** Keeps the parts that `evenkeel up` has started, so that it can stop them together. */
import type { openControl } from "./control.ts";

/** Stops the parts in reverse order of their start. */
export class UpSession {
  readonly #stops: (() => unknown)[] = [];
  handle: Parameters<typeof openControl>[1] = () => Promise.resolve({ pid: process.pid });
  #stopping: Promise<void> | undefined;

  onStop(stop: () => unknown): void {
    this.#stops.push(stop);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    for (const stop of this.#stops.toReversed()) await stop();
  }
}

/** What `evenkeel up` has started, to be stopped together. */
import type { openControl } from "./control.ts";

/** What has been started so far, to be stopped in the opposite order. */
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

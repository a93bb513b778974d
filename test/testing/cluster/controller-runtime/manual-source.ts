/** A source that enqueues keys for a controller when a test calls it. */
import type { KeySource } from "../../../../src/cluster/controller-runtime/controller.ts";

export class ManualSource implements KeySource {
  hasSynced = true;
  /** Enqueues a key; defined while the source runs. */
  enqueue: ((key: string) => void) | undefined;
  #end: { readonly resolve: () => void; readonly reject: (reason: Error) => void } | undefined;
  readonly #keys: readonly string[];

  /** `keys` are enqueued when the source starts. */
  constructor(...keys: string[]) {
    this.#keys = keys;
  }

  async run(enqueue: (key: string) => void, signal: AbortSignal): Promise<void> {
    this.enqueue = enqueue;
    for (const key of this.#keys) enqueue(key);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#end = { resolve, reject };
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    this.enqueue = undefined;
  }

  end(): void {
    this.#end?.resolve();
  }

  fail(message: string): void {
    this.#end?.reject(new Error(message));
  }
}

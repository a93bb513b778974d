/** The listeners of a store that are called when its history has changed. */
import type { HistoryListener } from "./kv.ts";

export class HistoryListeners {
  readonly #listeners = new Set<{ readonly call: HistoryListener }>();

  /** The returned function removes the listener. */
  add(call: HistoryListener): () => void {
    const listener = { call };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  call(evidence: string): void {
    for (const { call } of [...this.#listeners]) call(evidence);
  }
}

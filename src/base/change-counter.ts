/** Counts changes, so that the holder of a value which is built from several sources knows when to rebuild it. */
export class ChangeCounter {
  generation = 0;
  readonly #listeners = new Set<() => void>();

  count(): void {
    this.generation++;
    for (const listener of this.#listeners) listener();
  }

  /** Calls the listener on each change. The returned function removes the listener. */
  onCount(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

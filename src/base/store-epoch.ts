/**
 * Counts the histories of the store that this server has seen. A store that is restored from a backup begins another
 * history, in which the same revision means something else. Code that remembers revisions or copies of stored objects
 * must forget them when the epoch changes; otherwise it would compare revisions of two histories.
 */

/** A copy of stored objects, such as an informer. */
interface StoreCopy {
  /** The epoch in which the copy was last read completely. */
  readonly epoch: number;
}

export interface StoreEpoch {
  /** 0 until the history changes for the first time. */
  readonly current: number;
  /**
   * Adds a listener that is called synchronously with the evidence of each change, before anything of the new history
   * is used. The returned function removes it.
   */
  onChange(listener: (evidence: string) => void): () => void;
  /** Adds a copy that must be reloaded after each change. The returned function removes it. */
  register(copy: StoreCopy): () => void;
}

export class StoreEpochs implements StoreEpoch {
  readonly #listeners = new Set<(evidence: string) => void>();
  readonly #copies = new Set<StoreCopy>();
  #current = 0;

  get current(): number {
    return this.#current;
  }

  /** Number of copies that have not been read in this epoch. */
  get outdatedCopies(): number {
    return [...this.#copies].filter(({ epoch }) => epoch !== this.#current).length;
  }

  onChange(listener: (evidence: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  register(copy: StoreCopy): () => void {
    this.#copies.add(copy);
    return () => void this.#copies.delete(copy);
  }

  advance(evidence: string): void {
    this.#current++;
    for (const listener of [...this.#listeners]) listener(evidence);
  }
}

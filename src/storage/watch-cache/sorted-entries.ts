import type { Entry } from "./entry.ts";

/**
 * Holds entries by key and in key order. An insertion moves the tail of an array, which is cheap up to about 100,000
 * keys.
 */
export class SortedEntries {
  readonly #byKey = new Map<string, Entry>();
  readonly #sorted: Entry[] = [];

  get size(): number {
    return this.#sorted.length;
  }

  get(key: string): Entry | undefined {
    return this.#byKey.get(key);
  }

  /** Adds or replaces the entry, and returns the previous one. */
  set(entry: Entry): Entry | undefined {
    const previous = this.#byKey.get(entry.key);
    this.#byKey.set(entry.key, entry);
    const index = this.#indexOf(entry.key);
    if (previous === undefined) this.#sorted.splice(index, 0, entry);
    else this.#sorted[index] = entry;
    return previous;
  }

  delete(key: string): Entry | undefined {
    const previous = this.#byKey.get(key);
    if (previous === undefined) return undefined;
    this.#byKey.delete(key);
    this.#sorted.splice(this.#indexOf(key), 1);
    return previous;
  }

  /** The first entries of [start, end) in key order: a snapshot that later changes do not affect. */
  range(start: string, end: string, limit = Infinity): Entry[] {
    const from = this.#indexOf(start);
    return this.#sorted.slice(from, Math.min(from + limit, this.#indexOf(end)));
  }

  /** All entries in key order: a snapshot. */
  all(): readonly Entry[] {
    return [...this.#sorted];
  }

  /** Number of entries in [start, end). */
  count(start: string, end: string): number {
    return this.#indexOf(end) - this.#indexOf(start);
  }

  /** Index of the first entry whose key is not before the given one. */
  #indexOf(key: string): number {
    const last = this.#sorted.at(-1);
    if (last !== undefined && last.key < key) return this.#sorted.length;
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#sorted[middle]!.key < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

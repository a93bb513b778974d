/**
 * A cache of limited size with two generations. When the young generation is full, it becomes the old one, and entries
 * of the old one that were not read are dropped.
 */
export class BoundedMemo<Value> {
  readonly #max: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  /** `max` is the size of one generation, so the cache holds up to twice as many entries. */
  constructor(max: number) {
    this.#max = max;
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: Value): void {
    if (key.length > KEY_CHARACTERS_MAX) return;
    if (this.#young.size >= this.#max) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }
}

/**
 * Longer keys are not cached, because many of them could fill the memory. Names of users and namespaces are shorter.
 */
const KEY_CHARACTERS_MAX = 1_024;

/** A bounded cache in two generations: an entry that is not read during one generation is evicted. */
export class BoundedMemo<Value> {
  readonly #max: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  /** The cache holds at most twice as many entries. */
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

/** Longer keys are not cached: no user or namespace name is longer, and together they could fill the memory. */
const KEY_CHARACTERS_MAX = 1_024;

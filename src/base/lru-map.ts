/** A map of limited size that evicts the least recently used value. */
export class LruMap<Value> {
  readonly #max: number;
  readonly #values = new Map<string, Value>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size > this.#max) this.#values.delete(this.#values.keys().next().value!);
  }

  /** The keys, the one that was used least recently first. */
  keys(): Iterable<string> {
    return this.#values.keys();
  }

  delete(key: string): void {
    this.#values.delete(key);
  }

  clear(): void {
    this.#values.clear();
  }
}

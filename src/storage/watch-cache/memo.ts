/**
 * Values that readers derive from an entry or an event of the watch cache, by name. Most entries never have one, and the
 * cache holds many entries, so the map is created with the first value.
 */
export class Memo {
  #values: Map<string, unknown> | undefined;

  get size(): number {
    return this.#values?.size ?? 0;
  }

  has(name: string): boolean {
    return this.#values !== undefined && this.#values.has(name);
  }

  get(name: string): unknown {
    return this.#values?.get(name);
  }

  set(name: string, value: unknown): void {
    this.#values ??= new Map();
    this.#values.set(name, value);
  }

  clear(): void {
    this.#values = undefined;
  }
}

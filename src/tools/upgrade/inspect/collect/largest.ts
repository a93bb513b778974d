/** The largest of many items, without keeping the others. */
export class Largest<Item> {
  readonly #max: number;
  /** Sorted, the largest first. */
  readonly #items: { readonly size: number; readonly item: Item }[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether an item of this size would be kept. */
  accepts(size: number): boolean {
    return this.#items.length < this.#max || size > this.#items[this.#items.length - 1]!.size;
  }

  add(size: number, item: Item): void {
    const after = this.#items.findIndex((other) => other.size < size);
    this.#items.splice(after < 0 ? this.#items.length : after, 0, { size, item });
    if (this.#items.length > this.#max) this.#items.pop();
  }

  get all(): readonly { readonly size: number; readonly item: Item }[] {
    return this.#items;
  }
}

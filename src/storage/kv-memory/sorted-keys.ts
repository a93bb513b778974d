/**
 * An ordered set of keys in chunks: adding a key to a hundred thousand others moves a few hundred strings, not all of
 * them. The order is JavaScript's `<`, which is byte order for ASCII keys.
 */
const CHUNK_KEYS_MAX = 512;

export class SortedKeys {
  /** Never holds an empty chunk. */
  readonly #chunks: string[][] = [];

  add(key: string): void {
    if (this.#chunks.length === 0) {
      this.#chunks.push([key]);
      return;
    }
    const chunkIndex = this.#chunkOf(key);
    const chunk = this.#chunks[chunkIndex]!;
    const index = lowerBound(chunk, key);
    if (chunk[index] === key) return;
    chunk.splice(index, 0, key);
    if (chunk.length > CHUNK_KEYS_MAX) {
      this.#chunks.splice(chunkIndex + 1, 0, chunk.splice(CHUNK_KEYS_MAX / 2));
    }
  }

  delete(key: string): void {
    if (this.#chunks.length === 0) return;
    const chunkIndex = this.#chunkOf(key);
    const chunk = this.#chunks[chunkIndex]!;
    const index = lowerBound(chunk, key);
    if (chunk[index] !== key) return;
    chunk.splice(index, 1);
    if (chunk.length === 0) this.#chunks.splice(chunkIndex, 1);
  }

  /** The keys of [start, end) in order. The set must not change during the iteration. */
  *range(start: string, end: string): Generator<string, void, undefined> {
    if (this.#chunks.length === 0) return;
    let chunkIndex = this.#chunkOf(start);
    let index = lowerBound(this.#chunks[chunkIndex]!, start);
    for (; chunkIndex < this.#chunks.length; chunkIndex++, index = 0) {
      const chunk = this.#chunks[chunkIndex]!;
      for (; index < chunk.length; index++) {
        const key = chunk[index]!;
        if (key >= end) return;
        yield key;
      }
    }
  }

  /** Index of the last chunk whose first key is not after the given key, or of the first chunk if there is none. */
  #chunkOf(key: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (this.#chunks[middle]![0]! <= key) low = middle;
      else high = middle;
    }
    return low;
  }
}

function lowerBound(chunk: readonly string[], key: string): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (chunk[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The set of allocated numbers of a range, as kube-apiserver stores it: a big-endian integer without leading zero
 * bytes, whose bit n stands for the number at index n.
 */
export class Bitmap {
  /** Little-endian, so that the index of a byte does not depend on the length. */
  readonly #bytes: Buffer;

  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  static decode(data: Buffer): Bitmap {
    return new Bitmap(Buffer.from(data.toReversed()));
  }

  static of(indexes: Iterable<number>): Bitmap {
    return new Bitmap(Buffer.alloc(0)).with(indexes);
  }

  encode(): Buffer {
    let { length } = this.#bytes;
    while (length > 0 && this.#bytes[length - 1] === 0) length--;
    return Buffer.from(this.#bytes.subarray(0, length).toReversed());
  }

  has(index: number): boolean {
    return ((this.#bytes[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
  }

  with(indexes: Iterable<number>): Bitmap {
    const all = [...indexes];
    const bytes = Buffer.alloc(all.reduce((length, index) => Math.max(length, (index >> 3) + 1), this.#bytes.length));
    this.#bytes.copy(bytes);
    for (const index of all) bytes[index >> 3]! |= 1 << (index & 7);
    return new Bitmap(bytes);
  }

  without(indexes: Iterable<number>): Bitmap {
    const bytes = Buffer.from(this.#bytes);
    for (const index of indexes) if (index >> 3 < bytes.length) bytes[index >> 3]! &= ~(1 << (index & 7));
    return new Bitmap(bytes);
  }

  /** The indexes of all allocated numbers, in ascending order. */
  *indexes(): Generator<number, undefined> {
    for (const [at, byte] of this.#bytes.entries())
      for (let bit = 0; bit < 8; bit++) if ((byte & (1 << bit)) !== 0) yield at * 8 + bit;
    return undefined;
  }

  equals(other: Bitmap): boolean {
    return this.encode().equals(other.encode());
  }
}

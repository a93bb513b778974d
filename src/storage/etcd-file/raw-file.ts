/** A file that is open for reading at any position. */
import { closeSync, fstatSync, readSync } from "node:fs";
import { damaged } from "./damaged.ts";

/** etcd writes databases in multiples of this size, so a file with 32 bytes more ends with a SHA-256. */
const SECTOR_BYTES = 512;
export const HASH_BYTES = 32;

export class RawFile {
  readonly #descriptor: number;
  /** Size of the database, without the SHA-256 at the end. */
  readonly dataBytes: number;
  readonly isHashed: boolean;
  /** Whether the size is a possible one. */
  readonly isWhole: boolean;

  /** Takes over the descriptor. */
  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    const { size } = fstatSync(descriptor);
    this.isHashed = size % SECTOR_BYTES === HASH_BYTES;
    this.isWhole = this.isHashed || size % SECTOR_BYTES === 0;
    this.dataBytes = this.isHashed ? size - HASH_BYTES : size;
  }

  /** Fills the buffer, or as much of it as the file has, and returns the number of bytes. */
  readAtMost(into: Buffer, position: number): number {
    let filled = 0;
    while (filled < into.length) {
      const bytes = readSync(this.#descriptor, into, filled, into.length - filled, position + filled);
      if (bytes === 0) break;
      filled += bytes;
    }
    return filled;
  }

  /** Fills `length` bytes of the buffer from its start on. */
  read(into: Buffer, length: number, position: number): void {
    const target = into.length === length ? into : into.subarray(0, length);
    if (this.readAtMost(target, position) < length) throw damaged("it ended while it was read");
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

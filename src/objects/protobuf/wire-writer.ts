/**
 * Writes protobuf messages from the end to the beginning, because the length of a message precedes it and is known only
 * after everything in it has been written. Callers write the last field first.
 */
import { LENGTH_DELIMITED } from "../../base/wire-reader.ts";

/** Shorter texts are copied character by character, which is cheaper than a call to Node. */
const LETTERS_MAX = 40;
const ASCII_MAX = 0x7f;
const BYTES_AT_FIRST = 4096;
const INT_MAX = 0x7fff_ffff;

export const FIXED64 = 1;

export class WireWriter {
  #bytes = Buffer.allocUnsafeSlow(BYTES_AT_FIRST);
  /** The position of the first byte in the buffer. */
  #start = BYTES_AT_FIRST;

  /** Number of bytes written, from which the length of a message is computed. */
  get size(): number {
    return this.#bytes.length - this.#start;
  }

  /** Returns a copy of the bytes, and empties the writer. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.size);
    this.#bytes.copy(taken, 0, this.#start);
    this.clear();
    return taken;
  }

  /** Drops the bytes of a message that could not be completed. */
  clear(): void {
    this.#start = this.#bytes.length;
  }

  tag(field: number, wireType: number): void {
    this.#unsigned(field * 8 + wireType);
  }

  /** Writes the tag of a field and its length in bytes. */
  head(field: number, length: number): void {
    this.#unsigned(length);
    this.tag(field, LENGTH_DELIMITED);
  }

  /** Turns everything that was written since the writer had `sizeBefore` bytes into one field. */
  delimit(field: number, sizeBefore: number): void {
    this.head(field, this.size - sizeBefore);
  }

  /** Negative numbers take ten bytes, as in Go. Fractions are truncated. */
  varint(value: number): void {
    if (value >= 0 && value <= INT_MAX) return this.#unsigned(Math.trunc(value));
    let rest = BigInt.asUintN(64, BigInt(Number.isFinite(value) ? Math.trunc(value) : 0));
    const bytes: number[] = [];
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    this.bytes(Buffer.from(bytes));
  }

  double(value: number): void {
    this.#reserve(8);
    this.#start -= 8;
    this.#bytes.writeDoubleLE(value, this.#start);
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#start -= value.length;
    this.#bytes.set(value, this.#start);
  }

  text(field: number, value: string): void {
    const before = this.size;
    if (value.length > LETTERS_MAX || !this.#letters(value)) this.#longText(value);
    this.delimit(field, before);
  }

  /** Writes ASCII text. Returns false, without writing anything, if a character is not ASCII. */
  #letters(value: string): boolean {
    this.#reserve(value.length);
    const bytes = this.#bytes;
    let at = this.#start;
    for (let index = value.length - 1; index >= 0; index--) {
      const letter = value.charCodeAt(index);
      if (letter > ASCII_MAX) return false;
      bytes[--at] = letter;
    }
    this.#start = at;
    return true;
  }

  #longText(value: string): void {
    const length = Buffer.byteLength(value, "utf8");
    this.#reserve(length);
    this.#start -= length;
    this.#bytes.write(value, this.#start, length, length === value.length ? "latin1" : "utf8");
  }

  /** Writes a number of at most 31 bits. */
  #unsigned(value: number): void {
    this.#reserve(5);
    const bytes = this.#bytes;
    if (value <= 0x7f) {
      bytes[--this.#start] = value;
      return;
    }
    let at = (this.#start -= varintLength(value));
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
    bytes[at] = rest;
  }

  #reserve(length: number): void {
    if (length <= this.#start) return;
    const { size } = this;
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, size + length));
    this.#bytes.copy(grown, grown.length - size, this.#start);
    this.#bytes = grown;
    this.#start = grown.length - size;
  }
}

function varintLength(value: number): number {
  if (value < 1 << 14) return 2;
  if (value < 1 << 21) return 3;
  return value < 1 << 28 ? 4 : 5;
}

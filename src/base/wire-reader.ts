/**
 * Reads protobuf messages from a network, a disk or a client, and checks every length against the bytes that exist.
 * Subclasses choose the error for a malformed message.
 */

/** Positions of the bytes of a message: pairs of start and end, one pair for each occurrence of the message. */
export type Ranges = readonly number[];

export const VARINT = 0;
export const LENGTH_DELIMITED = 2;
const FIXED64 = 1;
const FIXED32 = 5;

const TWO_TO_32 = 0x1_0000_0000;

export abstract class WireReader {
  /** Number of the current field; valid after `next` returned true. */
  field = 0;
  readonly #bytes: Buffer;
  #position: number;
  #end: number;
  #wireType = 0;
  #low = 0;
  #high = 0;

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#position = start;
    this.#end = end;
  }

  /** The error for a malformed message. `problem` continues a sentence that begins with the name of the message. */
  protected abstract error(problem: string): Error;

  /** Moves to the next field; false at the end of the message. */
  next(): boolean {
    if (this.#position === this.#end) return false;
    this.#varint();
    if (this.#high !== 0) throw this.error("has a field tag longer than 32 bits");
    this.field = this.#low >>> 3;
    this.#wireType = this.#low & 7;
    if (this.field === 0) throw this.error("has field number 0, which Protobuf does not allow");
    return true;
  }

  bool(): boolean {
    this.#expect(VARINT);
    return this.#bool();
  }

  /** A 32-bit integer; longer numbers are truncated to 32 bits, as in Go. */
  int32(): number {
    this.#expect(VARINT);
    return this.#int32();
  }

  /** A 64-bit integer; above 2^53, it is rounded to the nearest number, as JSON.parse does for the same digits. */
  int64(): number {
    this.#expect(VARINT);
    return this.#int64();
  }

  bigInt64(): bigint {
    this.#expect(VARINT);
    this.#varint();
    return BigInt.asIntN(64, (BigInt(this.#high) << 32n) | BigInt(this.#low));
  }

  double(): number {
    this.#expect(FIXED64);
    const start = this.#position;
    this.#advance(8);
    return this.#bytes.readDoubleLE(start);
  }

  string(): string {
    const start = this.#lengthDelimited();
    return this.#bytes.toString("utf8", start, this.#position);
  }

  /** The bytes of the field as a view of the message, not a copy. */
  bytes(): Buffer {
    const start = this.#lengthDelimited();
    return this.#bytes.subarray(start, this.#position);
  }

  /** The position of a nested message. */
  range(): Ranges {
    const start = this.#lengthDelimited();
    return [start, this.#position];
  }

  appendRange(ranges: number[]): void {
    const start = this.#lengthDelimited();
    ranges.push(start, this.#position);
  }

  appendInt32s(values: unknown[]): void {
    this.#appendNumbers(values, () => this.#int32());
  }

  appendInt64s(values: unknown[]): void {
    this.#appendNumbers(values, () => this.#int64());
  }

  appendBools(values: unknown[]): void {
    this.#appendNumbers(values, () => this.#bool());
  }

  /** Skips an unknown field. Groups are not supported: neither Kubernetes nor etcd has any. */
  skip(): void {
    switch (this.#wireType) {
      case VARINT:
        return this.#varint();
      case FIXED64:
        return this.#advance(8);
      case LENGTH_DELIMITED:
        this.#lengthDelimited();
        return;
      case FIXED32:
        return this.#advance(4);
      default:
        throw this.error(`has field ${this.field} with wire type ${this.#wireType}, which is not supported`);
    }
  }

  /** Reads one number, or several numbers that are packed into one field, because senders may use either form. */
  #appendNumbers(values: unknown[], read: () => unknown): void {
    if (this.#wireType !== LENGTH_DELIMITED) {
      this.#expect(VARINT);
      values.push(read());
      return;
    }
    const start = this.#lengthDelimited();
    const messageEnd = this.#end;
    this.#end = this.#position;
    this.#position = start;
    while (this.#position < this.#end) values.push(read());
    this.#end = messageEnd;
  }

  #bool(): boolean {
    this.#varint();
    return this.#low !== 0 || this.#high !== 0;
  }

  #int32(): number {
    this.#varint();
    return this.#low | 0;
  }

  #int64(): number {
    this.#varint();
    return (this.#high | 0) * TWO_TO_32 + this.#low;
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType) {
      throw this.error(`has field ${this.field} with wire type ${this.#wireType} instead of ${wireType}`);
    }
  }

  #lengthDelimited(): number {
    this.#expect(LENGTH_DELIMITED);
    this.#varint();
    if (this.#high !== 0) throw this.error(`has field ${this.field} with a length beyond 32 bits`);
    const start = this.#position;
    this.#advance(this.#low);
    return start;
  }

  #advance(length: number): void {
    if (length > this.#end - this.#position) {
      throw this.error(`is truncated: field ${this.field} reaches beyond its end`);
    }
    this.#position += length;
  }

  #byte(): number {
    if (this.#position >= this.#end) throw this.error("is truncated: it ends inside a number");
    return this.#bytes[this.#position++]!;
  }

  /** Reads a varint to `#high` and `#low`, two unsigned 32-bit halves. */
  #varint(): void {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return this.#set(0, low);
    }
    const fifth = this.#byte();
    low |= (fifth & 0x0f) << 28;
    let high = (fifth & 0x70) >>> 4;
    if (fifth < 0x80) return this.#set(high, low);
    for (let shift = 3; shift < 32; shift += 7) {
      const byte = this.#byte();
      if (shift === 31 && byte > 1) break;
      high |= (byte & 0x7f) << shift;
      if (byte < 0x80) return this.#set(high, low);
    }
    throw this.error("has a number longer than 64 bits");
  }

  #set(high: number, low: number): void {
    this.#high = high >>> 0;
    this.#low = low >>> 0;
  }
}

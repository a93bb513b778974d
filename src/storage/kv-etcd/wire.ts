/**
 * Protobuf's wire format: the primitives that messages.ts is written in. The reader takes bytes from
 * the network: every length is checked against what is there, and whatever does not fit is a
 * `DecodeError`.
 */

export class DecodeError extends Error {
  override readonly name = "DecodeError";
}

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;

const TWO_TO_32 = 0x1_0000_0000;
const HIGH_MAX_SAFE = 0x1f_ffff;

export class Reader {
  /** Number of the current field; valid after `next` returned true. */
  field = 0;
  readonly #buffer: Buffer;
  readonly #end: number;
  #position: number;
  #wireType = 0;
  #low = 0;
  #high = 0;

  constructor(buffer: Buffer, start = 0, end = buffer.length) {
    this.#buffer = buffer;
    this.#position = start;
    this.#end = end;
  }

  /** Moves to the next field: false at the end of the message. */
  next(): boolean {
    if (this.#position === this.#end) return false;
    this.#varint();
    if (this.#high !== 0) throw new DecodeError("a field tag is longer than 32 bits");
    this.field = this.#low >>> 3;
    this.#wireType = this.#low & 7;
    if (this.field === 0) throw new DecodeError("field number 0 does not exist");
    return true;
  }

  /** A signed 64-bit integer that fits into a JavaScript number. */
  int64(): number {
    this.#expect(VARINT);
    this.#varint();
    const high = this.#high | 0;
    if (high > HIGH_MAX_SAFE || high < -HIGH_MAX_SAFE) throw new DecodeError("an integer is beyond 2^53");
    return high * TWO_TO_32 + this.#low;
  }

  bigInt64(): bigint {
    this.#expect(VARINT);
    this.#varint();
    return BigInt.asIntN(64, (BigInt(this.#high) << 32n) | BigInt(this.#low));
  }

  bool(): boolean {
    this.#expect(VARINT);
    this.#varint();
    return this.#low !== 0 || this.#high !== 0;
  }

  /** A view of the message's own memory. */
  bytes(): Buffer {
    const start = this.#lengthDelimited();
    return this.#buffer.subarray(start, this.#position);
  }

  string(): string {
    const start = this.#lengthDelimited();
    return this.#buffer.toString("utf8", start, this.#position);
  }

  message(): Reader {
    const start = this.#lengthDelimited();
    return new Reader(this.#buffer, start, this.#position);
  }

  /** Passes over a field that is not understood. */
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
        throw new DecodeError(`wire type ${this.#wireType} is not supported`);
    }
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType) {
      throw new DecodeError(`field ${this.field} has wire type ${this.#wireType} instead of ${wireType}`);
    }
  }

  #lengthDelimited(): number {
    this.#expect(LENGTH_DELIMITED);
    this.#varint();
    if (this.#high !== 0) throw new DecodeError("a length is beyond 32 bits");
    const start = this.#position;
    this.#advance(this.#low);
    return start;
  }

  #advance(length: number): void {
    if (length > this.#end - this.#position) throw new DecodeError("a field reaches beyond its message");
    this.#position += length;
  }

  #byte(): number {
    if (this.#position >= this.#end) throw new DecodeError("the message ends inside a number");
    return this.#buffer[this.#position++]!;
  }

  /** Leaves the 64 bits in `#high` and `#low`, both unsigned. */
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
    throw new DecodeError("a number is longer than 64 bits");
  }

  #set(high: number, low: number): void {
    this.#high = high >>> 0;
    this.#low = low >>> 0;
  }
}

/** Fields with their type's zero value are left out, as protobuf's third syntax has it. */
export class Writer {
  #buffer: Buffer;
  #position: number;

  /** `reserved` bytes at the start are left for the caller to fill in. */
  constructor(sizeHint: number, reserved = 0) {
    this.#buffer = Buffer.allocUnsafe(Math.max(sizeHint, 64) + reserved);
    this.#position = reserved;
  }

  finish(): Buffer {
    return this.#buffer.subarray(0, this.#position);
  }

  int64(field: number, value: number): void {
    if (value === 0) return;
    this.#tag(field, VARINT);
    this.#varint(value);
  }

  bigInt64(field: number, value: bigint): void {
    if (value === 0n) return;
    this.#tag(field, VARINT);
    this.#reserve(10);
    let rest = BigInt.asUintN(64, value);
    while (rest > 0x7fn) {
      this.#buffer[this.#position++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#buffer[this.#position++] = Number(rest);
  }

  bool(field: number, value: boolean): void {
    if (value) this.int64(field, 1);
  }

  bytes(field: number, value: Buffer): void {
    if (value.length === 0) return;
    this.#tag(field, LENGTH_DELIMITED);
    this.#varint(value.length);
    this.#reserve(value.length);
    this.#position += value.copy(this.#buffer, this.#position);
  }

  string(field: number, value: string): void {
    if (value.length === 0) return;
    const length = Buffer.byteLength(value);
    this.#tag(field, LENGTH_DELIMITED);
    this.#varint(length);
    this.#reserve(length);
    this.#position += this.#buffer.write(value, this.#position, length, "utf8");
  }

  /** Written also when empty: presence of a message means something. */
  message(field: number, write: (writer: Writer) => void): void {
    this.#tag(field, LENGTH_DELIMITED);
    this.#reserve(1);
    const lengthAt = this.#position++;
    write(this);
    const length = this.#position - lengthAt - 1;
    const lengthBytes = varintBytes(length);
    if (lengthBytes > 1) {
      this.#reserve(lengthBytes - 1);
      this.#buffer.copyWithin(lengthAt + lengthBytes, lengthAt + 1, this.#position);
    }
    this.#position = lengthAt;
    this.#varint(length);
    this.#position += length;
  }

  #tag(field: number, wireType: number): void {
    this.#varint(field * 8 + wireType);
  }

  /** A safe integer that is not negative. */
  #varint(value: number): void {
    this.#reserve(10);
    let rest = value;
    while (rest > 0x7f) {
      this.#buffer[this.#position++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.#buffer[this.#position++] = rest;
  }

  #reserve(length: number): void {
    const needed = this.#position + length;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#position);
    this.#buffer = grown;
  }
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}

/** Reads and writes the primitives of protobuf's wire format, for messages.ts and watch-messages.ts. */
import { LENGTH_DELIMITED, VARINT, WireReader } from "../../base/wire-reader.ts";

export class DecodeError extends Error {
  override readonly name = "DecodeError";
}

/** Throws a `DecodeError` for any malformed input. */
export class GrpcReader extends WireReader {
  readonly #buffer: Buffer;

  constructor(buffer: Buffer, start = 0, end = buffer.length) {
    super(buffer, start, end);
    this.#buffer = buffer;
  }

  /** Rejects values beyond 2^53, because revisions and counts must be exact. */
  override int64(): number {
    const value = super.int64();
    if (!Number.isSafeInteger(value)) throw this.error(`has an integer beyond 2^53 in field ${this.field}`);
    return value;
  }

  message(): GrpcReader {
    const [start, end] = this.range();
    return new GrpcReader(this.#buffer, start, end);
  }

  protected override error(problem: string): DecodeError {
    return new DecodeError(`the message ${problem}`);
  }
}

/** Omits fields with the zero value of their type, as proto3 does. */
export class GrpcWriter {
  #buffer: Buffer;
  #position: number;

  /** Leaves `reserved` bytes free at the start, which the caller fills in. */
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

  /** Written even if it is empty, because the presence of a nested message is significant. */
  message(field: number, write: (writer: GrpcWriter) => void): void {
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

  /** Writes a non-negative safe integer. */
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

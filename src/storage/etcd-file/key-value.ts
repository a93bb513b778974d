/**
 * Decodes etcd's `mvccpb.KeyValue` in place. One object decodes all records of a file, because an object per record
 * would cost more than reading the record.
 */
import { damaged } from "./damaged.ts";

const KEY_TAG = (1 << 3) | 2;
const CREATE_REVISION_TAG = 2 << 3;
const MOD_REVISION_TAG = 3 << 3;
const VERSION_TAG = 4 << 3;
const VALUE_TAG = (5 << 3) | 2;
const LEASE_TAG = 6 << 3;

/** A number of seven bits per byte: seven bytes are below 2^49, and an eighth must not exceed 2^53. */
const VARINT_BYTES_MAX = 10;

export class KeyValueCursor {
  keyStart = 0;
  keyEnd = 0;
  valueStart = 0;
  valueEnd = 0;
  createRevision = 0;
  modRevision = 0;
  version = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #position = 0;
  #end = 0;

  /** etcd writes the fields in the order of their numbers, and the key always. */
  decode(bytes: Buffer, start: number, end: number): void {
    this.#bytes = bytes;
    this.#position = start;
    this.#end = end;
    this.createRevision = this.modRevision = this.version = 0;
    if (bytes[start] !== KEY_TAG || start === end) throw damaged("a record of a change does not begin with its key");
    this.#position++;
    this.keyStart = this.#delimited();
    this.keyEnd = this.valueStart = this.valueEnd = this.#position;
    let lastTag = KEY_TAG;
    while (this.#position < end) {
      const tag = bytes[this.#position++]!;
      if (tag <= lastTag) throw damaged("a record of a change has a field twice, or out of order");
      lastTag = tag;
      this.#field(tag);
    }
  }

  #field(tag: number): void {
    switch (tag) {
      case CREATE_REVISION_TAG:
        this.createRevision = this.#varint();
        return;
      case MOD_REVISION_TAG:
        this.modRevision = this.#varint();
        return;
      case VERSION_TAG:
        this.version = this.#varint();
        return;
      case VALUE_TAG:
        this.valueStart = this.#delimited();
        this.valueEnd = this.#position;
        return;
      case LEASE_TAG:
        // The ID of a lease has 63 bits, and nobody needs it here.
        this.#skipVarint();
        return;
      default:
        throw damaged("a record of a change has an unknown field");
    }
  }

  /** Returns where the bytes of the field start, and moves to their end. */
  #delimited(): number {
    const length = this.#varint();
    const start = this.#position;
    if (length > this.#end - start) throw damaged("a record of a change is truncated");
    this.#position = start + length;
    return start;
  }

  #varint(): number {
    let value = 0;
    let factor = 1;
    for (let index = 0; index < VARINT_BYTES_MAX; index++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        // Two forms of one number would be two forms of one key.
        if (byte === 0 && index > 0) break;
        if (!Number.isSafeInteger(value)) break;
        return value;
      }
      factor *= 128;
    }
    throw damaged("a record of a change has a malformed number");
  }

  #skipVarint(): void {
    for (let index = 0; index < VARINT_BYTES_MAX; index++) if (this.#byte() < 0x80) return;
    throw damaged("a record of a change has a malformed number");
  }

  #byte(): number {
    if (this.#position >= this.#end) throw damaged("a record of a change is truncated");
    return this.#bytes[this.#position++]!;
  }
}

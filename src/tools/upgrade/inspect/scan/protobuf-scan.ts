/**
 * Reads the type and the metadata of a stored protobuf object from its wire bytes. The rest of the object is only
 * checked for lengths that fit, because decoding it would cost ten times as much.
 */
import { MAGIC } from "../../../../objects/protobuf/decode.ts";
import type { ByteStrings } from "./byte-strings.ts";
import type { ObjectHead } from "./object-head.ts";

/** As in Kubernetes' generated.proto files. */
const UNKNOWN = { typeMeta: 1, raw: 2, contentEncoding: 3 } as const;
const TYPE_META = { apiVersion: 1, kind: 2 } as const;
const OBJECT = { metadata: 1 } as const;
const META = { uid: 5, deletionTimestamp: 9, ownerReferences: 13, finalizers: 14, managedFields: 17 } as const;
const OWNER = { kind: 1, uid: 4, apiVersion: 5 } as const;
const ENTRY = { manager: 1, apiVersion: 3, time: 4 } as const;
const TIME = { seconds: 1 } as const;

const SECONDS_MAX = 253_402_300_800;

export class ProtobufScan {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  /** The current field: its number, and the range of its bytes, or its value if it is a number. */
  #field = 0;
  #start = 0;
  #end = 0;
  #value = 0;
  #isMalformed = false;

  /** Returns why the value cannot be read, without any of its content; undefined if it was read. */
  scan(value: Buffer, head: ObjectHead): string | undefined {
    head.clear();
    this.#bytes = value;
    this.#isMalformed = false;
    const problem = this.#readEnvelope(head);
    if (this.#isMalformed) return "the protobuf value is malformed or truncated";
    return problem;
  }

  #readEnvelope(head: ObjectHead): string | undefined {
    const { length } = this.#bytes;
    let [rawStart, rawEnd] = [-1, -1];
    let isCompressed = false;
    this.#at = MAGIC.length;
    while (this.#next(length)) {
      const [start, end, after] = [this.#start, this.#end, this.#at];
      if (this.#field === UNKNOWN.typeMeta) this.#readTypeMeta(head, start, end);
      else if (this.#field === UNKNOWN.raw) [rawStart, rawEnd] = [start, end];
      else if (this.#field === UNKNOWN.contentEncoding) isCompressed ||= start < end;
      this.#at = after;
    }
    if (this.#isMalformed) return undefined;
    if (isCompressed) return "the protobuf value has a content encoding, which no server reads";
    if (rawStart < 0) return "the protobuf value has no object";
    this.#readObject(head, rawStart, rawEnd);
    return undefined;
  }

  #readTypeMeta(head: ObjectHead, start: number, end: number): void {
    this.#at = start;
    while (this.#next(end)) {
      if (this.#field === TYPE_META.apiVersion) head.apiVersion = this.#text(head.types);
      else if (this.#field === TYPE_META.kind) head.kind = this.#text(head.types);
    }
  }

  #readObject(head: ObjectHead, start: number, end: number): void {
    this.#at = start;
    while (this.#next(end)) {
      if (this.#field !== OBJECT.metadata) continue;
      const after = this.#at;
      this.#readMetadata(head, this.#start, this.#end);
      this.#at = after;
    }
  }

  #readMetadata(head: ObjectHead, start: number, end: number): void {
    this.#at = start;
    while (this.#next(end)) {
      const after = this.#at;
      switch (this.#field) {
        case META.uid:
          head.setUid(this.#bytes, this.#start, this.#end);
          break;
        case META.deletionTimestamp:
          head.isDeleting = true;
          break;
        case META.ownerReferences:
          this.#readOwner(head, this.#start, this.#end);
          break;
        case META.finalizers:
          head.addFinalizer(this.#text(head.strings));
          break;
        case META.managedFields:
          this.#readEntry(head, this.#start, this.#end);
          break;
        default:
      }
      this.#at = after;
    }
  }

  #readOwner(head: ObjectHead, start: number, end: number): void {
    const owner = head.addOwner();
    if (owner === undefined) return;
    this.#at = start;
    while (this.#next(end)) {
      if (this.#field === OWNER.uid) head.setOwnerUid(owner, this.#bytes, this.#start, this.#end);
      else if (this.#field === OWNER.kind) head.ownerKinds[owner] = this.#text(head.strings);
      else if (this.#field === OWNER.apiVersion) head.ownerVersions[owner] = this.#text(head.strings);
    }
  }

  #readEntry(head: ObjectHead, start: number, end: number): void {
    const entry = head.addEntry();
    if (entry === undefined) return;
    this.#at = start;
    while (this.#next(end)) {
      const after = this.#at;
      if (this.#field === ENTRY.manager) head.managers[entry] = this.#text(head.strings);
      else if (this.#field === ENTRY.apiVersion) head.managerVersions[entry] = this.#text(head.strings);
      else if (this.#field === ENTRY.time) head.times[entry] = this.#readSeconds(this.#start, this.#end);
      this.#at = after;
    }
  }

  #readSeconds(start: number, end: number): number {
    let seconds = 0;
    this.#at = start;
    while (this.#next(end)) if (this.#field === TIME.seconds) seconds = this.#value;
    return seconds < SECONDS_MAX ? seconds : 0;
  }

  #text(strings: ByteStrings): number {
    return strings.idOf(this.#bytes, this.#start, this.#end);
  }

  /** Moves to the next field of the message that ends at `end`; false at the end or if the message is malformed. */
  #next(end: number): boolean {
    if (this.#isMalformed || this.#at >= end) return false;
    const tag = this.#varint(end);
    this.#field = Math.floor(tag / 8);
    this.#value = 0;
    const wireType = tag & 7;
    let length = 0;
    if (wireType === 0) this.#value = this.#varint(end);
    else if (wireType === 2) length = this.#varint(end);
    else if (wireType === 1) length = 8;
    else if (wireType === 5) length = 4;
    else this.#isMalformed = true;
    this.#start = this.#at;
    this.#end = this.#at + length;
    this.#at = this.#end;
    if (this.#field === 0 || this.#end > end) this.#isMalformed = true;
    return !this.#isMalformed;
  }

  /** Numbers beyond 2^53 are rounded. */
  #varint(end: number): number {
    let value = 0;
    let scale = 1;
    for (let bytes = 0; bytes < 10 && this.#at < end; bytes++) {
      const byte = this.#bytes[this.#at++]!;
      if (byte < 0x80) return value + byte * scale;
      value += (byte & 0x7f) * scale;
      scale *= 0x80;
    }
    this.#isMalformed = true;
    return 0;
  }
}

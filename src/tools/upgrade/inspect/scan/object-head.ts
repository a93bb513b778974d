/**
 * The parts of a stored object that an inspection needs. One instance is filled again for each object, so that a scan
 * allocates nothing. Texts are IDs of `ByteStrings`.
 */
import { createHash } from "node:crypto";
import type { ByteStrings } from "./byte-strings.ts";

/** Objects have a few; the rest is not examined. */
const OWNERS_MAX = 64;
const ENTRIES_MAX = 256;
const FINALIZERS_MAX = 16;
const UID_TEXT_BYTES = 36;
export const UID_WORDS = 4;

/** The ID of an absent text. */
export const ABSENT = -1;

export class ObjectHead {
  /** Of apiVersions and kinds of objects; apart from the others, so that names of clients cannot fill it. */
  readonly types: ByteStrings;
  /** Of all other texts. */
  readonly strings: ByteStrings;
  apiVersion = ABSENT;
  kind = ABSENT;
  hasUid = false;
  readonly uid = new Uint32Array(UID_WORDS);
  isDeleting = false;
  finalizers = 0;
  readonly finalizerIds = new Int32Array(FINALIZERS_MAX);
  owners = 0;
  readonly ownerUids = new Uint32Array(OWNERS_MAX * UID_WORDS);
  readonly ownerKinds = new Int32Array(OWNERS_MAX);
  readonly ownerVersions = new Int32Array(OWNERS_MAX);
  /** Entries of managedFields. */
  entries = 0;
  readonly managers = new Int32Array(ENTRIES_MAX);
  readonly managerVersions = new Int32Array(ENTRIES_MAX);
  /** In seconds since 1970, 0 if unknown. */
  readonly times = new Float64Array(ENTRIES_MAX);

  constructor(types: ByteStrings, strings: ByteStrings) {
    this.types = types;
    this.strings = strings;
  }

  clear(): void {
    this.apiVersion = ABSENT;
    this.kind = ABSENT;
    this.hasUid = false;
    this.isDeleting = false;
    this.finalizers = 0;
    this.owners = 0;
    this.entries = 0;
  }

  setUid(bytes: Buffer, start: number, end: number): void {
    this.hasUid = start < end;
    readUid(bytes, { start, end, into: this.uid, at: 0 });
  }

  addFinalizer(id: number): void {
    if (this.finalizers < FINALIZERS_MAX) this.finalizerIds[this.finalizers++] = id;
  }

  /** Returns the position of the added owner; undefined if there is no room. */
  addOwner(): number | undefined {
    if (this.owners >= OWNERS_MAX) return undefined;
    const at = this.owners++;
    this.ownerKinds[at] = 0;
    this.ownerVersions[at] = 0;
    this.ownerUids.fill(0, at * UID_WORDS, (at + 1) * UID_WORDS);
    return at;
  }

  setOwnerUid(owner: number, bytes: Buffer, start: number, end: number): void {
    readUid(bytes, { start, end, into: this.ownerUids, at: owner * UID_WORDS });
  }

  addEntry(): number | undefined {
    if (this.entries >= ENTRIES_MAX) return undefined;
    const at = this.entries++;
    this.managers[at] = 0;
    this.managerVersions[at] = 0;
    this.times[at] = 0;
    return at;
  }
}

interface UidTarget {
  readonly start: number;
  readonly end: number;
  readonly into: Uint32Array;
  readonly at: number;
}

/** Kubernetes compares UIDs as text. A text that is not a UUID in lower case is replaced by its hash. */
function readUid(bytes: Buffer, target: UidTarget): void {
  const { start, end, into, at } = target;
  if (end - start !== UID_TEXT_BYTES || !readUuid(bytes, target)) {
    const hash = createHash("sha256").update(bytes.subarray(start, end)).digest();
    for (let word = 0; word < UID_WORDS; word++) into[at + word] = hash.readUInt32LE(word * 4);
  }
}

function readUuid(bytes: Buffer, { start, into, at }: UidTarget): boolean {
  let position = start;
  for (let word = 0; word < UID_WORDS; word++) {
    let value = 0;
    for (let digits = 0; digits < 8; position++) {
      const byte = bytes[position]!;
      const isDash = byte === 0x2d;
      const digit = byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : byte >= 0x61 && byte <= 0x66 ? byte - 0x57 : -1;
      if (isDash !== isDashPosition(position - start)) return false;
      if (isDash) continue;
      if (digit < 0) return false;
      value = ((value << 4) | digit) >>> 0;
      digits++;
    }
    into[at + word] = value;
  }
  return position === start + UID_TEXT_BYTES;
}

function isDashPosition(offset: number): boolean {
  return offset === 8 || offset === 13 || offset === 18 || offset === 23;
}

/**
 * The set of the keys whose newest change has been read. It keeps hashes of the keys and where the keys are in the file,
 * instead of the keys themselves, so 1,000,000 keys take 32 MB. If hashes are equal, the key in the file decides, so
 * that a collision never hides a key.
 */
import { damaged } from "./etcd-file-error.ts";
import { COLLISIONS_MAX, KEYS_MAX } from "./etcd-file-limits.ts";
import type { RawFile } from "./raw-file.ts";

const SLOTS_AT_FIRST = 4096;
const LOAD_MAX = 0.7;
/**
 * Bound of the work of all lookups. With random hashes a lookup looks at fewer than three slots on average; keys that
 * were chosen to share a slot would need hours.
 */
const PROBES_PER_LOOKUP = 16;
const PROBES_FREE = 1_000_000;

/** Recently seen keys, so that comparing a key that changes often needs no read of the file. */
const RECENT_KEYS = 8192;
const RECENT_KEY_BYTES = 256;

/** Where the record of a key is: `start` to `end` in `bytes`, and `position` in the file. */
export interface KeyRecord {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly position: number;
}

export class SeenKeys {
  readonly #file: RawFile;
  #slots = SLOTS_AT_FIRST;
  #hashes = new Uint32Array(2 * SLOTS_AT_FIRST);
  /** 0 marks an empty slot, because a meta page is at the start of the file. */
  #positions = new Float64Array(SLOTS_AT_FIRST);
  #size = 0;
  #lookups = 0;
  #probes = 0;
  #collisions = 0;
  readonly #recentPositions = new Float64Array(RECENT_KEYS);
  readonly #recentBytes = Buffer.alloc(RECENT_KEYS * RECENT_KEY_BYTES);
  #compared = Buffer.alloc(RECENT_KEY_BYTES);

  constructor(file: RawFile) {
    this.#file = file;
  }

  /**
   * Returns whether the key is new. The bytes of a record must begin with the length of the key, so that no record is the
   * beginning of another.
   */
  add(record: KeyRecord): boolean {
    if (this.#size >= this.#slots * LOAD_MAX) this.#grow();
    const { bytes, start, end, position } = record;
    let low = 0x811c9dc5;
    let high = 0x9e3779b9;
    for (let index = start; index < end; index++) {
      const byte = bytes[index]!;
      low = Math.imul(low ^ byte, 0x01000193);
      high = Math.imul(high ^ byte, 0x85ebca6b);
      high ^= high >>> 15;
    }
    low = mixed(low ^ high);
    high >>>= 0;
    this.#lookups++;
    const slot = this.#find(record, low, high);
    if (slot === undefined) return false;
    this.#set(slot, { low, high, position });
    this.#size++;
    if (this.#size > KEYS_MAX) throw damaged(`it has more than ${KEYS_MAX} keys`);
    this.#remember(record, low);
    return true;
  }

  /** The free slot for a new key; undefined if the set has the key. */
  #find(record: KeyRecord, low: number, high: number): number | undefined {
    const mask = this.#slots - 1;
    let slot = low & mask;
    for (; this.#positions[slot] !== 0; slot = (slot + 1) & mask) {
      this.#countProbe();
      if (this.#hashes[2 * slot] !== low || this.#hashes[2 * slot + 1] !== high) continue;
      if (this.#isAt(this.#positions[slot]!, record, low)) return undefined;
      if (++this.#collisions > COLLISIONS_MAX) throw collisions();
    }
    return slot;
  }

  #isAt(position: number, { bytes, start, end }: KeyRecord, low: number): boolean {
    const length = end - start;
    const recent = low & (RECENT_KEYS - 1);
    if (this.#recentPositions[recent] === position && length <= RECENT_KEY_BYTES) {
      const at = recent * RECENT_KEY_BYTES;
      return bytes.compare(this.#recentBytes, at, at + length, start, end) === 0;
    }
    if (this.#compared.length < length) this.#compared = Buffer.alloc(2 * length);
    this.#file.read(this.#compared, length, position);
    return bytes.compare(this.#compared, 0, length, start, end) === 0;
  }

  #remember({ bytes, start, end, position }: KeyRecord, low: number): void {
    if (end - start > RECENT_KEY_BYTES) return;
    const recent = low & (RECENT_KEYS - 1);
    this.#recentPositions[recent] = position;
    bytes.copy(this.#recentBytes, recent * RECENT_KEY_BYTES, start, end);
  }

  #countProbe(): void {
    if (++this.#probes > PROBES_FREE + PROBES_PER_LOOKUP * this.#lookups) throw collisions();
  }

  #set(slot: number, { low, high, position }: { low: number; high: number; position: number }): void {
    this.#hashes[2 * slot] = low;
    this.#hashes[2 * slot + 1] = high;
    this.#positions[slot] = position;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const positions = this.#positions;
    this.#slots *= 2;
    this.#hashes = new Uint32Array(2 * this.#slots);
    this.#positions = new Float64Array(this.#slots);
    const mask = this.#slots - 1;
    for (let old = 0; old < positions.length; old++) {
      const position = positions[old]!;
      if (position === 0) continue;
      const low = hashes[2 * old]!;
      let slot = low & mask;
      for (; this.#positions[slot] !== 0; slot = (slot + 1) & mask) this.#countProbe();
      this.#set(slot, { low, high: hashes[2 * old + 1]!, position });
    }
  }
}

function mixed(value: number): number {
  let mixing = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixing = Math.imul(mixing ^ (mixing >>> 13), 0xc2b2ae35);
  return (mixing ^ (mixing >>> 16)) >>> 0;
}

function collisions(): Error {
  return damaged("it has keys that were chosen to slow down the reader");
}

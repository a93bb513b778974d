/**
 * The set of the keys whose newest change has been read from a database file. It keeps hashes of the keys and where the
 * keys are in the file, instead of the keys themselves, so 1,000,000 keys take 32 MB. If hashes are equal, the key in
 * the file decides, so that a collision never hides a key.
 */
import { DatabaseFileError } from "./database-file-error.ts";

/** Maximum number of different keys. Their table would take 512 MB; a cluster has fewer than a tenth. */
const KEYS_MAX = 20_000_000;
/** Maximum number of pairs of keys with the same 64-bit hash. One such pair is already very improbable. */
const COLLISIONS_MAX = 100;
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

/** A key as a part of a buffer, and where it is in the file, which is greater than 0. */
export interface KeyPlace {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly position: number;
}

export class SeenKeys {
  /** Whether the file has this key at another position, too. */
  readonly #isAt: (position: number, key: KeyPlace) => boolean;
  #slots = SLOTS_AT_FIRST;
  #hashes = new Uint32Array(2 * SLOTS_AT_FIRST);
  /** 0 marks an empty slot. */
  #positions = new Float64Array(SLOTS_AT_FIRST);
  #size = 0;
  #lookups = 0;
  #probes = 0;
  #collisions = 0;
  readonly #recentPositions = new Float64Array(RECENT_KEYS);
  readonly #recentLengths = new Uint16Array(RECENT_KEYS);
  readonly #recentBytes = Buffer.alloc(RECENT_KEYS * RECENT_KEY_BYTES);

  constructor(isAt: (position: number, key: KeyPlace) => boolean) {
    this.#isAt = isAt;
  }

  /** Returns whether the key is new. */
  add(key: KeyPlace): boolean {
    if (this.#size >= this.#slots * LOAD_MAX) this.#grow();
    const { bytes, start, end, position } = key;
    let low = 0x811c9dc5;
    let high = 0x9e3779b9 ^ (end - start);
    for (let index = start; index < end; index += 4) {
      const word = index + 4 <= end ? wordAt(bytes, index) : lastWord(bytes, index, end);
      low = Math.imul(low ^ word, 0xcc9e2d51);
      low ^= low >>> 15;
      high = Math.imul((high << 13) ^ (high >>> 19) ^ word, 0x85ebca6b);
    }
    low = mixed(low);
    high = mixed(high);
    this.#lookups++;
    const slot = this.#find(key, low, high);
    if (slot === undefined) return false;
    this.#set(slot, { low, high, position });
    this.#size++;
    if (this.#size > KEYS_MAX) throw new DatabaseFileError(`has more than ${KEYS_MAX} keys, which is not supported`);
    this.#remember(key, low);
    return true;
  }

  /** The free slot for a new key; undefined if the set has the key. */
  #find(key: KeyPlace, low: number, high: number): number | undefined {
    const mask = this.#slots - 1;
    let slot = low & mask;
    for (; this.#positions[slot] !== 0; slot = (slot + 1) & mask) {
      this.#countProbe();
      if (this.#hashes[2 * slot] !== low || this.#hashes[2 * slot + 1] !== high) continue;
      if (this.#isSame(this.#positions[slot]!, key, low)) return undefined;
      if (++this.#collisions > COLLISIONS_MAX) throw chosenKeys();
    }
    return slot;
  }

  #isSame(position: number, key: KeyPlace, low: number): boolean {
    const recent = low & (RECENT_KEYS - 1);
    if (this.#recentPositions[recent] !== position) return this.#isAt(position, key);
    const at = recent * RECENT_KEY_BYTES;
    const end = at + this.#recentLengths[recent]!;
    return key.bytes.compare(this.#recentBytes, at, end, key.start, key.end) === 0;
  }

  #remember({ bytes, start, end, position }: KeyPlace, low: number): void {
    if (end - start > RECENT_KEY_BYTES) return;
    const recent = low & (RECENT_KEYS - 1);
    this.#recentPositions[recent] = position;
    this.#recentLengths[recent] = end - start;
    bytes.copy(this.#recentBytes, recent * RECENT_KEY_BYTES, start, end);
  }

  #countProbe(): void {
    if (++this.#probes > PROBES_FREE + PROBES_PER_LOOKUP * this.#lookups) throw chosenKeys();
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

function wordAt(bytes: Buffer, index: number): number {
  return bytes[index]! | (bytes[index + 1]! << 8) | (bytes[index + 2]! << 16) | (bytes[index + 3]! << 24);
}

function lastWord(bytes: Buffer, start: number, end: number): number {
  let word = 0;
  for (let index = start; index < end; index++) word = (word << 8) | bytes[index]!;
  return word;
}

function mixed(value: number): number {
  let mixing = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixing = Math.imul(mixing ^ (mixing >>> 13), 0xc2b2ae35);
  return (mixing ^ (mixing >>> 16)) >>> 0;
}

function chosenKeys(): DatabaseFileError {
  return new DatabaseFileError(
    "has keys that were chosen to slow down their reader, so it is not a database of Kubernetes",
  );
}

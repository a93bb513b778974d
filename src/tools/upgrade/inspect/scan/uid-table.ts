/**
 * A hash table of 128-bit UIDs in typed arrays: a million UIDs in a Set of strings would need 100 MB. Each UID has a
 * position, by which its users keep counts in arrays of their own.
 */
import { UID_WORDS } from "./object-head.ts";

const SLOTS_MIN = 4_096;
const LOAD_MAX = 0.7;
/** UIDs that are chosen to collide make the table incomplete instead of slow. */
const PROBES_MAX = 256;

export class UidTable {
  readonly #sizeMax: number;
  #words = new Uint32Array(1_024 * UID_WORDS);
  /** Positions of the UIDs plus 1; 0 is a free slot. */
  #slots = new Uint32Array(SLOTS_MIN);
  #size = 0;
  #isComplete = true;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get size(): number {
    return this.#size;
  }

  /** False if a UID did not fit, so that an absent UID proves nothing. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** The position of the UID at `words[at]`; -1 if it is not in the table. */
  find(words: Uint32Array, at: number): number {
    const slot = this.#slotOf(words, at);
    return slot < 0 ? -1 : this.#slots[slot]! - 1;
  }

  /** The position of the UID, which is added if it is new; -1 if it does not fit. */
  add(words: Uint32Array, at: number): number {
    let slot = this.#slotOf(words, at);
    if (slot < 0 || (this.#slots[slot] === 0 && this.#size >= this.#sizeMax)) {
      this.#isComplete = false;
      return -1;
    }
    if (this.#slots[slot] !== 0) return this.#slots[slot]! - 1;
    if (this.#size + 1 > this.#slots.length * LOAD_MAX) {
      this.#grow();
      slot = this.#slotOf(words, at);
      if (slot < 0) return -1;
    }
    if ((this.#size + 1) * UID_WORDS > this.#words.length) this.#words = grown(this.#words);
    const start = this.#size * UID_WORDS;
    for (let word = 0; word < UID_WORDS; word++) this.#words[start + word] = words[at + word]!;
    this.#slots[slot] = ++this.#size;
    return this.#size - 1;
  }

  /** The words of the UID at a position, to search for it in another table. */
  wordsAt(position: number): Uint32Array {
    return this.#words.subarray(position * UID_WORDS, (position + 1) * UID_WORDS);
  }

  /** The slot that has the UID, or a free one; -1 if there are too many collisions. */
  #slotOf(words: Uint32Array, at: number): number {
    const mask = this.#slots.length - 1;
    const hash = mixed(words, at);
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const slot = (hash + probe) & mask;
      const entry = this.#slots[slot]!;
      if (entry === 0 || this.#isAt(entry - 1, words, at)) return slot;
    }
    return -1;
  }

  #isAt(position: number, words: Uint32Array, at: number): boolean {
    const start = position * UID_WORDS;
    for (let word = 0; word < UID_WORDS; word++) if (this.#words[start + word] !== words[at + word]) return false;
    return true;
  }

  #grow(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    for (let position = 0; position < this.#size; position++) {
      const slot = this.#slotOf(this.#words, position * UID_WORDS);
      if (slot < 0) this.#isComplete = false;
      else this.#slots[slot] = position + 1;
    }
  }
}

function mixed(words: Uint32Array, at: number): number {
  let hash = 0;
  for (let word = 0; word < UID_WORDS; word++) {
    hash = Math.imul(hash ^ words[at + word]!, 0x85ebca6b);
    hash ^= hash >>> 13;
  }
  return Math.imul(hash, 0xc2b2ae35) >>> 7;
}

/** A copy with room for more elements. */
export function grown<Items extends Uint32Array | Uint16Array>(items: Items): Items {
  const copy = new (items.constructor as new (length: number) => Items)(items.length * 2);
  copy.set(items);
  return copy;
}

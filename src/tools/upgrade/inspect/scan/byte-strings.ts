/**
 * Maps the bytes of repeated strings, such as names of field managers, to small numbers, without creating a JavaScript
 * string for each occurrence. Without it, an inspection of a million objects would create ten million strings.
 */
import { OTHERS } from "../inspection.ts";

/** The number of all strings that did not fit. */
export const OTHERS_ID = 0;

const STRINGS_MAX = 20_000;
const LENGTH_MAX = 253;
/** At most half of the slots are used. A power of 2. */
const SLOTS = 65_536;
/** Strings that are chosen to collide count as others. */
const PROBES_MAX = 64;

export class ByteStrings {
  readonly #slots = new Int32Array(SLOTS);
  readonly #copies: Uint8Array[] = [new Uint8Array()];
  readonly #texts: string[] = [OTHERS];

  /** The number of all known strings; their IDs are smaller. */
  get size(): number {
    return this.#texts.length;
  }

  idOf(bytes: Uint8Array, start: number, end: number): number {
    let hash = 0x811c9dc5;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    hash ^= hash >>> 15;
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const slot = (hash + probe) & (SLOTS - 1);
      const id = this.#slots[slot]!;
      if (id === 0) return this.#add(slot, bytes.subarray(start, end));
      if (isEqual(this.#copies[id]!, bytes, start, end)) return id;
    }
    return OTHERS_ID;
  }

  textOf(id: number): string {
    return this.#texts[id] ?? OTHERS;
  }

  #add(slot: number, bytes: Uint8Array): number {
    if (bytes.length > LENGTH_MAX || this.#texts.length >= STRINGS_MAX) return OTHERS_ID;
    const id = this.#texts.length;
    const copy = Buffer.from(bytes);
    this.#slots[slot] = id;
    this.#copies.push(copy);
    this.#texts.push(copy.toString("utf8"));
    return id;
  }
}

function isEqual(copy: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (copy.length !== end - start) return false;
  for (let at = 0; at < copy.length; at++) if (copy[at] !== bytes[start + at]) return false;
  return true;
}

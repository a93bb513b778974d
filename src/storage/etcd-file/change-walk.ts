/** Decides which changes of the bucket "key" are the newest of their keys, and counts the live keys. */
import { SeenKeys, type KeyPlace } from "../database-file/seen-keys.ts";
import type { Leaf } from "./bolt-page.ts";
import { damaged } from "./damaged.ts";
import { KeyValueCursor } from "./key-value.ts";
import type { RawFile } from "./raw-file.ts";
import { RevisionKey } from "./revision-key.ts";

export interface EtcdFileItem {
  readonly key: string;
  /** Valid until `visit` returns. */
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
}

const KEY_BYTES_USUAL = 256;

/** Reads changes from the newest to the oldest. */
export class ChangeWalk {
  keys = 0;
  bytes = 0;
  readonly #file: RawFile;
  readonly #prefix: Buffer;
  readonly #visit: (item: EtcdFileItem) => void;
  readonly #seen: SeenKeys;
  readonly #revision = new RevisionKey();
  readonly #record = new KeyValueCursor();
  #lastMain = Infinity;
  #lastSub = 0;
  #compared = Buffer.alloc(KEY_BYTES_USUAL);

  constructor(file: RawFile, prefix: string, visit: (item: EtcdFileItem) => void) {
    this.#prefix = Buffer.from(prefix);
    this.#visit = visit;
    this.#seen = new SeenKeys((position, key) => this.#isAt(position, key));
    this.#file = file;
  }

  /** Reads the entries `first` to `last - 1`, the last one first. */
  read(leaf: Leaf, first: number, last: number): void {
    for (let index = last - 1; index >= first; index--) {
      leaf.select(index);
      this.#readChange(leaf);
    }
  }

  #readChange(leaf: Leaf): void {
    const { bytes } = leaf;
    const record = this.#record;
    this.#decode(leaf);
    if (!this.#isWanted(bytes)) return;
    const isNewest = this.#seen.add({
      bytes,
      // A record begins with the length of its key, so no key is the beginning of another.
      start: leaf.keyEnd,
      end: record.keyEnd,
      position: leaf.positionOf(leaf.keyEnd),
    });
    if (!isNewest || this.#revision.isDelete) return;
    this.keys++;
    this.bytes += record.keyEnd - record.keyStart + (record.valueEnd - record.valueStart);
    this.#visit({
      key: bytes.toString("utf8", record.keyStart, record.keyEnd),
      value: bytes.subarray(record.valueStart, record.valueEnd),
      createRevision: record.createRevision,
      modRevision: record.modRevision,
    });
  }

  #decode(leaf: Leaf): void {
    const revision = this.#revision;
    const record = this.#record;
    if (leaf.isBucket) throw damaged('its bucket "key" contains a bucket');
    revision.decode(leaf);
    if (revision.main > this.#lastMain || (revision.main === this.#lastMain && revision.sub >= this.#lastSub)) {
      throw damaged("its changes are not in the order of their revisions");
    }
    this.#lastMain = revision.main;
    this.#lastSub = revision.sub;
    record.decode(leaf.bytes, leaf.keyEnd, leaf.valueEnd);
    if (revision.isDelete) return;
    if (record.modRevision !== revision.main || record.createRevision > record.modRevision || record.version === 0) {
      throw damaged("a record of a change contradicts its revision");
    }
  }

  #isAt(position: number, { bytes, start, end }: KeyPlace): boolean {
    const length = end - start;
    if (this.#compared.length < length) this.#compared = Buffer.alloc(2 * length);
    this.#file.read(this.#compared, length, position);
    return bytes.compare(this.#compared, 0, length, start, end) === 0;
  }

  #isWanted(bytes: Buffer): boolean {
    const { keyStart, keyEnd } = this.#record;
    const prefix = this.#prefix;
    if (keyEnd - keyStart < prefix.length) return false;
    // Faster than `compare` for the short prefixes of Kubernetes.
    for (let index = 0; index < prefix.length; index++) if (bytes[keyStart + index] !== prefix[index]) return false;
    return true;
  }
}

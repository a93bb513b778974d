/**
 * Finds owner references whose owner does not exist. Owners and dependents come in any order, so all UIDs of objects and
 * of owners are kept, in typed arrays.
 */
import { UID_WORDS, type ObjectHead } from "../scan/object-head.ts";
import { grown, UidTable } from "../scan/uid-table.ts";

/** About 250 MB of tables. */
const OBJECTS_MAX = 6_000_000;
const OWNERS_MAX = 3_000_000;

/** An owner that no object is, by the position of its UID. */
interface MissingOwner {
  readonly position: number;
  /** IDs of `ByteStrings`, as the first dependent has them. */
  readonly kind: number;
  readonly apiVersion: number;
  readonly dependents: number;
}

export class Owners {
  readonly #objects = new UidTable(OBJECTS_MAX);
  readonly #owners = new UidTable(OWNERS_MAX);
  #dependents = new Uint32Array(1_024);
  #kinds = new Uint16Array(1_024);
  #versions = new Uint16Array(1_024);

  /** False if there were more UIDs than fit. */
  get isComplete(): boolean {
    return this.#objects.isComplete && this.#owners.isComplete;
  }

  count(head: ObjectHead): void {
    if (head.hasUid) this.#objects.add(head.uid, 0);
    for (let owner = 0; owner < head.owners; owner++) this.#countOwner(head, owner);
  }

  #countOwner(head: ObjectHead, owner: number): void {
    const position = this.#owners.add(head.ownerUids, owner * UID_WORDS);
    if (position < 0) return;
    if (position >= this.#dependents.length) {
      this.#dependents = grown(this.#dependents);
      this.#kinds = grown(this.#kinds);
      this.#versions = grown(this.#versions);
    }
    if (this.#dependents[position]!++ > 0) return;
    this.#kinds[position] = head.ownerKinds[owner]!;
    this.#versions[position] = head.ownerVersions[owner]!;
  }

  /** The position of an owner of an object, as in `MissingOwner`; -1 if it did not fit. */
  positionOf(head: ObjectHead, owner: number): number {
    return this.#owners.find(head.ownerUids, owner * UID_WORDS);
  }

  *missing(): Generator<MissingOwner> {
    if (!this.isComplete) return;
    for (let position = 0; position < this.#owners.size; position++) {
      if (this.#objects.find(this.#owners.wordsAt(position), 0) >= 0) continue;
      yield {
        position,
        kind: this.#kinds[position]!,
        apiVersion: this.#versions[position]!,
        dependents: this.#dependents[position]!,
      };
    }
  }
}

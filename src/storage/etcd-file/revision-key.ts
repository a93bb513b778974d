/**
 * The keys of the bucket "key": the main revision, an underscore, the number of the change within that revision, and a
 * "t" if the change is a delete.
 */
import type { Leaf } from "./bolt-page.ts";
import { damaged } from "./damaged.ts";

const PUT_BYTES = 17;
const UNDERSCORE = 0x5f;
const TOMBSTONE = 0x74;
const TWO_TO_32 = 2 ** 32;

export class RevisionKey {
  main = 0;
  sub = 0;
  isDelete = false;

  /** Decodes the key of the selected entry. */
  decode({ bytes, keyStart, keyEnd }: Leaf): void {
    const length = keyEnd - keyStart;
    this.isDelete = length === PUT_BYTES + 1 && bytes[keyStart + PUT_BYTES] === TOMBSTONE;
    if ((length !== PUT_BYTES && !this.isDelete) || bytes[keyStart + 8] !== UNDERSCORE) {
      throw damaged("the key of a change is not a revision");
    }
    this.main = bytes.readUInt32BE(keyStart) * TWO_TO_32 + bytes.readUInt32BE(keyStart + 4);
    this.sub = bytes.readUInt32BE(keyStart + 9) * TWO_TO_32 + bytes.readUInt32BE(keyStart + 13);
    if (!Number.isSafeInteger(this.main) || !Number.isSafeInteger(this.sub)) {
      throw damaged("the key of a change is a revision beyond 2^53");
    }
  }
}

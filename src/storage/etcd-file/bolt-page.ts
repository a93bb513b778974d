/** The entries of the two kinds of tree pages of bbolt. Every position and size is checked against the page. */
import { PAGE_HEADER_BYTES } from "./bolt-meta.ts";
import { damaged } from "./damaged.ts";
import { BRANCH_BYTES_MAX } from "./etcd-file-limits.ts";
import type { PageView } from "./page-reader.ts";

const BRANCH_FLAG = 1;
const LEAF_FLAG = 2;
const ENTRY_BYTES = 16;
/** Flag of an entry whose value is a bucket. */
const BUCKET_FLAG = 1;

export function isBranch(view: PageView): boolean {
  const flags = view.bytes.readUInt16LE(view.start + 8);
  if (flags !== BRANCH_FLAG && flags !== LEAF_FLAG) throw damaged(`${nameOf(view)} is not a page of a tree`);
  return flags === BRANCH_FLAG;
}

function entryCount({ bytes, start, end, position }: PageView): number {
  const count = bytes.readUInt16LE(start + 10);
  if (PAGE_HEADER_BYTES + count * ENTRY_BYTES > end - start) {
    throw damaged(`${nameOf({ position })} has more entries than room`);
  }
  return count;
}

function nameOf({ position }: Pick<PageView, "position">): string {
  return `the page at byte ${position}`;
}

interface Child {
  readonly page: number;
  /** No key of the child is less. */
  readonly firstKey: Buffer;
}

/** A copy of the children of a page, because the buffer of the page is used for the children. */
export function branchChildren(view: PageView): readonly Child[] {
  const { start, end } = view;
  const count = entryCount(view);
  if (count === 0) throw damaged(`${nameOf(view)} is a branch without children`);
  if (end - start > BRANCH_BYTES_MAX) throw damaged(`${nameOf(view)} is a branch of ${end - start} bytes`);
  const bytes = Buffer.from(view.bytes.subarray(start, end));
  const children: Child[] = [];
  let dataStart = PAGE_HEADER_BYTES + count * ENTRY_BYTES;
  for (let index = 0; index < count; index++) {
    const entry = PAGE_HEADER_BYTES + index * ENTRY_BYTES;
    const keyStart = entry + bytes.readUInt32LE(entry);
    const keyEnd = keyStart + bytes.readUInt32LE(entry + 4);
    if (keyStart < dataStart || keyEnd > bytes.length) throw damaged(`${nameOf(view)} has a key outside of the page`);
    dataStart = keyEnd;
    const page = bytes.readUInt32LE(entry + 8) + bytes.readUInt32LE(entry + 12) * 2 ** 32;
    children.push({ page, firstKey: bytes.subarray(keyStart, keyEnd) });
  }
  return children;
}

/** The entries of a leaf page, of which one is selected. */
export class Leaf {
  readonly bytes: Buffer;
  readonly count: number;
  readonly #view: PageView;
  keyStart = 0;
  keyEnd = 0;
  /** The value follows the key. */
  valueEnd = 0;
  isBucket = false;

  constructor(view: PageView) {
    this.#view = view;
    this.bytes = view.bytes;
    this.count = entryCount(view);
    this.#checkOrder();
  }

  /** Size of the page with its overflow pages. */
  get size(): number {
    return this.#view.end - this.#view.start;
  }

  select(index: number): void {
    const { bytes } = this;
    const entry = this.#view.start + PAGE_HEADER_BYTES + index * ENTRY_BYTES;
    this.isBucket = (bytes.readUInt32LE(entry) & BUCKET_FLAG) !== 0;
    this.keyStart = entry + bytes.readUInt32LE(entry + 4);
    this.keyEnd = this.keyStart + bytes.readUInt32LE(entry + 8);
    this.valueEnd = this.keyEnd + bytes.readUInt32LE(entry + 12);
  }

  /** The position in the file of a byte of `bytes`. */
  positionOf(offset: number): number {
    return this.#view.position + (offset - this.#view.start);
  }

  /** Entries that overlap could make a small file look large. */
  #checkOrder(): void {
    const { start, end } = this.#view;
    let dataStart = start + PAGE_HEADER_BYTES + this.count * ENTRY_BYTES;
    for (let index = 0; index < this.count; index++) {
      this.select(index);
      if (this.keyStart < dataStart || this.valueEnd > end) {
        throw damaged(`${nameOf(this.#view)} has an entry outside of the page`);
      }
      dataStart = this.valueEnd;
    }
  }
}

/**
 * Writes databases in the format of bbolt, so that tests and the benchmark of the reader need no etcd. Entries must be
 * added in the order of their keys. The pages are written as they fill, so a database may be larger than the memory.
 */
import { closeSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { createHash } from "node:crypto";

export interface BoltEntry {
  readonly key: Buffer;
  readonly value: Buffer;
  /** Whether the value is a bucket. */
  readonly isBucket?: boolean;
}

export interface BoltLayout {
  readonly pageSize: number;
  /** Unused pages between the pages of a tree. */
  readonly gapPages: number;
  /** Number of children after which a branch page ends, even if it has room. */
  readonly childrenMax: number;
}

export const USUAL_LAYOUT: BoltLayout = { pageSize: 4096, gapPages: 0, childrenMax: Infinity };

interface Child {
  readonly firstKey: Buffer;
  readonly page: number;
}

const HEADER_BYTES = 16;
const ENTRY_BYTES = 16;
const BRANCH_FLAG = 1;
const LEAF_FLAG = 2;
const META_FLAG = 4;
const HASHED_BYTES = 1024 * 1024;

export class BoltWriter {
  readonly #descriptor: number;
  readonly #layout: BoltLayout;
  /** Pages 0 and 1 are the meta pages. */
  #nextPage = 2;

  constructor(path: string, layout: BoltLayout) {
    this.#descriptor = openSync(path, "w+");
    this.#layout = layout;
  }

  /** Writes a tree, and returns its root page. */
  writeTree(entries: Iterable<BoltEntry>): number {
    const { pageSize } = this.#layout;
    let level: Child[] = [];
    let batch: BoltEntry[] = [];
    let size = HEADER_BYTES;
    const flush = (): void => {
      level.push({
        firstKey: batch[0]?.key ?? Buffer.alloc(0),
        page: this.#writePage(LEAF_FLAG, leafBody(batch), batch.length),
      });
      batch = [];
      size = HEADER_BYTES;
    };
    for (const entry of entries) {
      const bytes = ENTRY_BYTES + entry.key.length + entry.value.length;
      if (batch.length > 0 && size + bytes > pageSize) flush();
      batch.push(entry);
      size += bytes;
    }
    if (batch.length > 0 || level.length === 0) flush();
    while (level.length > 1) level = this.#writeBranches(level);
    return level[0]!.page;
  }

  /** Writes the meta pages and, for a snapshot, the SHA-256. Closes the file. */
  finish(rootPage: number, { transaction, isHashed }: { transaction: number; isHashed: boolean }): void {
    const { pageSize } = this.#layout;
    for (const index of [0, 1]) {
      const newest = transaction % 2 === index ? transaction : transaction - 1;
      this.#write(
        metaPage(index, { pageSize, rootPage, pageCount: this.#nextPage, transaction: newest }),
        index * pageSize,
      );
    }
    const size = this.#nextPage * pageSize;
    ftruncateSync(this.#descriptor, size);
    if (isHashed) this.#write(this.#hash(size), size);
    closeSync(this.#descriptor);
  }

  #writeBranches(children: readonly Child[]): Child[] {
    const { pageSize, childrenMax } = this.#layout;
    const parents: Child[] = [];
    let batch: Child[] = [];
    let size = HEADER_BYTES;
    const flush = (): void => {
      parents.push({
        firstKey: batch[0]!.firstKey,
        page: this.#writePage(BRANCH_FLAG, branchBody(batch), batch.length),
      });
      batch = [];
      size = HEADER_BYTES;
    };
    for (const child of children) {
      const bytes = ENTRY_BYTES + child.firstKey.length;
      if (batch.length > 0 && (size + bytes > pageSize || batch.length >= childrenMax)) flush();
      batch.push(child);
      size += bytes;
    }
    flush();
    return parents;
  }

  #writePage(flags: number, body: Buffer, count: number): number {
    const { pageSize, gapPages } = this.#layout;
    const page = this.#nextPage;
    const pages = Math.ceil((HEADER_BYTES + body.length) / pageSize);
    const bytes = Buffer.alloc(pages * pageSize);
    pageHeader({ page, flags, count, overflow: pages - 1 }).copy(bytes);
    body.copy(bytes, HEADER_BYTES);
    this.#write(bytes, page * pageSize);
    this.#nextPage += pages + gapPages;
    return page;
  }

  #write(bytes: Buffer, position: number): void {
    for (let done = 0; done < bytes.length;) {
      done += writeSync(this.#descriptor, bytes, done, bytes.length - done, position + done);
    }
  }

  #hash(size: number): Buffer {
    const hash = createHash("sha256");
    const buffer = Buffer.alloc(HASHED_BYTES);
    for (let position = 0; position < size;) {
      const bytes = readSync(this.#descriptor, buffer, 0, Math.min(HASHED_BYTES, size - position), position);
      hash.update(buffer.subarray(0, bytes));
      position += bytes;
    }
    return hash.digest();
  }
}

/** The value of an entry that refers to a tree. */
export function bucketValue(rootPage: number): Buffer {
  const value = Buffer.alloc(16);
  value.writeBigUInt64LE(BigInt(rootPage));
  return value;
}

/** The value of an entry that contains a small bucket. */
export function inlineBucketValue(entries: readonly BoltEntry[]): Buffer {
  const header = pageHeader({ page: 0, flags: LEAF_FLAG, count: entries.length, overflow: 0 });
  return Buffer.concat([bucketValue(0), header, leafBody(entries)]);
}

function pageHeader(header: { page: number; flags: number; count: number; overflow: number }): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeBigUInt64LE(BigInt(header.page));
  bytes.writeUInt16LE(header.flags, 8);
  bytes.writeUInt16LE(header.count, 10);
  bytes.writeUInt32LE(header.overflow, 12);
  return bytes;
}

function leafBody(entries: readonly BoltEntry[]): Buffer {
  const table = Buffer.alloc(entries.length * ENTRY_BYTES);
  let position = table.length;
  entries.forEach(({ key, value, isBucket = false }, index) => {
    const at = index * ENTRY_BYTES;
    table.writeUInt32LE(isBucket ? 1 : 0, at);
    table.writeUInt32LE(position - at, at + 4);
    table.writeUInt32LE(key.length, at + 8);
    table.writeUInt32LE(value.length, at + 12);
    position += key.length + value.length;
  });
  return Buffer.concat([table, ...entries.flatMap(({ key, value }) => [key, value])]);
}

function branchBody(children: readonly Child[]): Buffer {
  const table = Buffer.alloc(children.length * ENTRY_BYTES);
  let position = table.length;
  children.forEach(({ firstKey, page }, index) => {
    const at = index * ENTRY_BYTES;
    table.writeUInt32LE(position - at, at);
    table.writeUInt32LE(firstKey.length, at + 4);
    table.writeBigUInt64LE(BigInt(page), at + 8);
    position += firstKey.length;
  });
  return Buffer.concat([table, ...children.map(({ firstKey }) => firstKey)]);
}

interface Meta {
  readonly pageSize: number;
  readonly rootPage: number;
  readonly pageCount: number;
  readonly transaction: number;
}

function metaPage(index: number, { pageSize, rootPage, pageCount, transaction }: Meta): Buffer {
  const meta = Buffer.alloc(64);
  meta.writeUInt32LE(0xed0cdaed, 0);
  meta.writeUInt32LE(2, 4);
  meta.writeUInt32LE(pageSize, 8);
  meta.writeBigUInt64LE(BigInt(rootPage), 16);
  // No list of free pages.
  meta.writeBigUInt64LE(0xffff_ffff_ffff_ffffn, 32);
  meta.writeBigUInt64LE(BigInt(pageCount), 40);
  meta.writeBigUInt64LE(BigInt(transaction), 48);
  meta.writeBigUInt64LE(checksum(meta.subarray(0, 56)), 56);
  return Buffer.concat([pageHeader({ page: index, flags: META_FLAG, count: 0, overflow: 0 }), meta]);
}

/** FNV-1a with 64 bits. */
function checksum(bytes: Buffer): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}

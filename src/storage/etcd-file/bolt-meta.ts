/**
 * Reads the two meta pages of a bbolt database. bbolt writes them in turn, one per transaction, so the valid one with
 * the higher transaction ID describes the newest state, and a torn write damages only one of them.
 */
import { DatabaseFileError } from "../database-file/database-file-error.ts";
import { damaged } from "./damaged.ts";
import type { RawFile } from "./raw-file.ts";

export interface BoltMeta {
  readonly pageSize: number;
  /** The root page of the tree of buckets. */
  readonly rootPage: number;
  /** Pages from this number on are not in use. */
  readonly pageCount: number;
  readonly transaction: bigint;
}

export interface ChosenMeta extends BoltMeta {
  /** Whether the other meta page is valid, too. If not, the last transaction may be missing. */
  readonly isOtherValid: boolean;
}

const MAGIC = 0xed0cdaed;
const VERSION = 2;
/** Size of the header that every page begins with. */
export const PAGE_HEADER_BYTES = 16;
const META_BYTES = 64;
const CHECKSUM_AT = 56;
const PAGE_SIZES: readonly number[] = [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
/** The second meta page follows the first one. */
const META_POSITIONS: readonly number[] = [0, ...PAGE_SIZES];
/** So many bytes from the start of a database contain both meta pages. */
export const META_BYTES_MAX = 2 * 65_536;

/** Throws an `DatabaseFileError` if neither meta page is valid, or the file is shorter than the valid one says. */
export function readMeta(file: RawFile): ChosenMeta {
  const [first, second] = validMetas(file);
  const newest =
    second === undefined || (first !== undefined && first.transaction > second.transaction) ? first : second;
  if (newest === undefined) throw isBolt(file) ? damaged("both of its meta pages are invalid") : notBolt();
  const size = newest.pageCount * newest.pageSize;
  if (size > file.dataBytes)
    throw damaged(`it is truncated, because it has ${file.dataBytes} bytes instead of ${size}`);
  if (!file.isWhole) throw damaged("its size is neither that of a snapshot nor that of the database of a member");
  return { ...newest, isOtherValid: first !== undefined && second !== undefined };
}

export function notBolt(): DatabaseFileError {
  return new DatabaseFileError(
    'is not a database of etcd; pass a file that "etcdctl snapshot save" has written, or member/snap/db of etcd\'s data directory',
  );
}

/** The position of the second meta page depends on the page size, which only a valid meta page tells. */
function validMetas(file: RawFile): [BoltMeta | undefined, BoltMeta | undefined] {
  const first = metaAt(file, 0);
  if (first !== undefined) {
    const second = metaAt(file, first.pageSize);
    return [first, second?.pageSize === first.pageSize ? second : undefined];
  }
  for (const pageSize of PAGE_SIZES) {
    const second = metaAt(file, pageSize);
    if (second?.pageSize === pageSize) return [undefined, second];
  }
  return [undefined, undefined];
}

function metaAt(file: RawFile, position: number): BoltMeta | undefined {
  const page = Buffer.alloc(PAGE_HEADER_BYTES + META_BYTES);
  if (file.readAtMost(page, position) < page.length) return undefined;
  const meta = page.subarray(PAGE_HEADER_BYTES);
  if (meta.readUInt32LE(0) !== MAGIC || meta.readUInt32LE(4) !== VERSION) return undefined;
  if (meta.readBigUInt64LE(CHECKSUM_AT) !== fnv1a(meta.subarray(0, CHECKSUM_AT))) return undefined;
  const pageSize = meta.readUInt32LE(8);
  const pageCount = Number(meta.readBigUInt64LE(40));
  const rootPage = Number(meta.readBigUInt64LE(16));
  if (!PAGE_SIZES.includes(pageSize)) return undefined;
  if (!Number.isSafeInteger(pageCount * pageSize) || rootPage >= pageCount) return undefined;
  return { pageSize, rootPage, pageCount, transaction: meta.readBigUInt64LE(48) };
}

/** Whether one of the meta pages has at least the magic number of bbolt. */
export function isBolt(file: RawFile): boolean {
  return META_POSITIONS.some((position) => hasMagic(file, position));
}

function hasMagic(file: RawFile, position: number): boolean {
  const page = Buffer.alloc(PAGE_HEADER_BYTES + 4);
  return file.readAtMost(page, position) === page.length && page.readUInt32LE(PAGE_HEADER_BYTES) === MAGIC;
}

const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;

function fnv1a(bytes: Buffer): bigint {
  let hash = FNV_OFFSET;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * FNV_PRIME);
  return hash;
}

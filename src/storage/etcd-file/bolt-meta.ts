/**
 * Reads the two meta pages of a bbolt database. bbolt writes them in turn, one per transaction, so the valid one with
 * the higher transaction ID describes the newest state, and a torn write damages only one of them.
 */
import { damaged, EtcdFileError } from "./etcd-file-error.ts";
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
const PAGE_BYTES_MIN = 1024;
const PAGE_BYTES_LARGEST = 64 * 1024;

/** Throws an `EtcdFileError` if neither meta page is valid, or the file is shorter than the valid one says. */
export function readMeta(file: RawFile): ChosenMeta {
  const [first, second] = validMetas(file);
  const newest =
    second === undefined || (first !== undefined && first.transaction > second.transaction) ? first : second;
  if (newest === undefined) throw hasMagic(file) ? damaged("both of its meta pages are invalid") : notBolt();
  if (newest.pageCount * newest.pageSize > file.dataBytes) {
    throw damaged(
      `it is truncated, because it has ${file.dataBytes} bytes instead of ${newest.pageCount * newest.pageSize}`,
    );
  }
  return { ...newest, isOtherValid: first !== undefined && second !== undefined };
}

function notBolt(): EtcdFileError {
  return new EtcdFileError(
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
  for (let pageSize = PAGE_BYTES_MIN; pageSize <= PAGE_BYTES_LARGEST; pageSize *= 2) {
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
  if (pageSize < PAGE_BYTES_MIN || pageSize > PAGE_BYTES_LARGEST || (pageSize & (pageSize - 1)) !== 0) return undefined;
  if (!Number.isSafeInteger(pageCount * pageSize) || rootPage >= pageCount) return undefined;
  return { pageSize, rootPage, pageCount, transaction: meta.readBigUInt64LE(48) };
}

function hasMagic(file: RawFile): boolean {
  const page = Buffer.alloc(PAGE_HEADER_BYTES + 4);
  return file.readAtMost(page, 0) === page.length && page.readUInt32LE(PAGE_HEADER_BYTES) === MAGIC;
}

const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;

function fnv1a(bytes: Buffer): bigint {
  let hash = FNV_OFFSET;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * FNV_PRIME);
  return hash;
}

/** Ranges, read page by page at one revision. */
import type { KeyValue, RangeRequest, RangeResult } from "../kv.ts";
import { prefixEnd, StorageError } from "../kv.ts";
import type { Connection } from "./connection.ts";
import { toStorageError } from "./errors.ts";
import { RANGE_ATTEMPTS_MAX, RANGE_PAGE_BYTES, RANGE_PAGE_KEYS } from "./limits.ts";
import type { RangeAnswer, RangeMessage } from "./messages.ts";
import { decodeRange, encodeRange, METHOD } from "./messages.ts";

/** In etcd's range_end: all keys from the start on. As a key: the first there can be. */
const ALL_KEYS_END = "\0";
const FIRST_KEY = "\0";

/** A range that holds nothing, for the requests that etcd would understand differently or refuse. */
const EMPTY_RANGE = { key: "!", rangeEnd: "!" } as const;

export async function readRange(connection: Connection, request: RangeRequest): Promise<RangeResult> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readPages(connection, request);
    } catch (thrown) {
      // Someone compacted the revision that our own first page had pinned: the caller asked for the newest.
      const isOurs = request.revision === undefined && isCode(thrown, "revision-compacted");
      if (!isOurs || attempt === RANGE_ATTEMPTS_MAX) throw await withNewest(connection, thrown);
    }
  }
}

/** One linearizable read that touches no data. */
export async function readCurrentRevision(connection: Connection): Promise<number> {
  const { revision } = await readPage(connection, { ...EMPTY_RANGE, countOnly: true });
  return revision;
}

/** etcd does not say which revision is the newest when it refuses one of the future. */
export async function withNewest(connection: Connection, thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof StorageError) || thrown.code !== "revision-future") return thrown;
  const revision = await readCurrentRevision(connection);
  return new StorageError("revision-future", thrown.message, { revision, cause: thrown.cause });
}

async function readPages(connection: Connection, request: RangeRequest): Promise<RangeResult> {
  const keys = toKeys(request);
  const wanted = request.limit ?? Number.POSITIVE_INFINITY;
  // A limit of 0 means no limit to etcd.
  if (request.countOnly || wanted <= 0) {
    const { revision, count } = await readPage(connection, { ...keys, ...pinnedTo(request.revision), countOnly: true });
    return { items: [], revision, count };
  }
  let pageKeys = RANGE_PAGE_KEYS;
  const first = await readPageOfAtMost(
    connection,
    { ...keys, ...pinnedTo(request.revision) },
    Math.min(pageKeys, wanted),
  );
  const items = [...first.items];
  const pinned = pinnedTo(request.revision ?? first.revision);
  let page = first;
  for (let last = page.items.at(-1); page.hasMore && items.length < wanted && last; last = page.items.at(-1)) {
    pageKeys = keysPerPage(page.items);
    const key = `${last.key}\0`;
    page = await readPageOfAtMost(connection, { ...keys, ...pinned, key }, Math.min(pageKeys, wanted - items.length));
    for (const item of page.items) items.push(item);
  }
  return { items, revision: first.revision, count: first.count };
}

/** Asks for fewer keys when the values are so big that the answer is longer than we accept. */
async function readPageOfAtMost(connection: Connection, message: RangeMessage, limit: number): Promise<RangeAnswer> {
  try {
    return await readPage(connection, { ...message, limit });
  } catch (thrown) {
    if (limit === 1 || !isCode(thrown, "too-large")) throw thrown;
    return readPageOfAtMost(connection, message, Math.ceil(limit / 8));
  }
}

async function readPage(connection: Connection, message: RangeMessage): Promise<RangeAnswer> {
  const answer = await connection.request({ method: METHOD.range, frame: encodeRange(message), isIdempotent: true });
  try {
    return decodeRange(answer);
  } catch (thrown) {
    throw toStorageError(thrown);
  }
}

function keysPerPage(items: readonly KeyValue[]): number {
  let bytes = 0;
  for (const item of items) bytes += item.key.length + item.value.length;
  const average = Math.max(1, bytes / items.length);
  return Math.max(1, Math.min(RANGE_PAGE_KEYS, Math.floor(RANGE_PAGE_BYTES / average)));
}

function pinnedTo(revision: number | undefined): { revision?: number } {
  // Revision 0 means the newest to etcd; the port knows no such revision, and 1 is compacted or empty.
  return revision === undefined ? {} : { revision: Math.max(1, revision) };
}

function toKeys({ start, end }: RangeRequest): { key: string; rangeEnd?: string } {
  if (end === undefined) return start === "" ? EMPTY_RANGE : { key: start };
  const key = start === "" ? FIRST_KEY : start;
  return Buffer.compare(Buffer.from(end), Buffer.from(key)) <= 0 ? EMPTY_RANGE : { key, rangeEnd: end };
}

/** The keys with a prefix, in etcd's terms. */
export function prefixKeys(prefix: string): { key: string; rangeEnd: string } {
  if (prefix === "") return { key: FIRST_KEY, rangeEnd: ALL_KEYS_END };
  return { key: prefix, rangeEnd: prefixEnd(prefix) };
}

function isCode(thrown: unknown, code: StorageError["code"]): boolean {
  return thrown instanceof StorageError && thrown.code === code;
}

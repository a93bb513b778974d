/** Reads ranges from etcd page by page, all pages at one revision. */
import { type KeyValue, type RangeRequest, type RangeResult, keyAfter, prefixEnd, StorageError } from "../kv.ts";
import { readRange, type PageRequest, type RangePage } from "../read-range.ts";
import type { CheckedCalls } from "./checked-calls.ts";
import { RANGE_PAGE_BYTES, RANGE_PAGE_KEYS } from "./etcd-limits.ts";
import type { RangeResponse, RangeMessage } from "./messages.ts";

type Calls = Pick<CheckedCalls, "range">;

/** "\0" as etcd's range_end means all keys from the start key on; as a key it is the first possible key. */
const ALL_KEYS_END = "\0";
const FIRST_KEY = "\0";

/** An empty range, sent instead of a request that etcd would interpret differently or reject. */
const EMPTY_RANGE = { key: "!", rangeEnd: "!" } as const;

export async function rangeOf(calls: Calls, request: RangeRequest): Promise<RangeResult> {
  let pageKeys = RANGE_PAGE_KEYS;
  const readNext = async ({ start, revision, limit }: PageRequest): Promise<RangePage> => {
    const keys = { ...toKeys({ ...request, start }), ...pinnedTo(revision) };
    // To etcd, a limit of 0 means no limit.
    if (limit <= 0) {
      const counted = await calls.range({ ...keys, countOnly: true });
      return { items: [], revision: counted.header.revision, count: counted.count, nextStart: undefined };
    }
    const page = await readPageOfAtMost(calls, keys, Math.min(pageKeys, limit));
    const { revision: newest } = page.header;
    const last = page.items.at(-1);
    if (last !== undefined) pageKeys = keysPerPage(page.items);
    return {
      ...page,
      revision: newest,
      nextStart: page.hasMore && last !== undefined ? keyAfter(last.key) : undefined,
    };
  };
  try {
    return await readRange(request, readNext);
  } catch (thrown) {
    throw await withNewest(calls, thrown);
  }
}

/** Returns the newest revision by one linearizable read that returns no data. */
export async function readCurrentRevision(calls: Calls): Promise<number> {
  const { header } = await calls.range({ ...EMPTY_RANGE, countOnly: true });
  return header.revision;
}

/**
 * Adds the newest revision to a `revision-future` error, because etcd does not report it when it rejects a future
 * revision.
 */
export async function withNewest(calls: Calls, thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof StorageError) || thrown.code !== "revision-future") return thrown;
  const revision = await readCurrentRevision(calls);
  return new StorageError("revision-future", thrown.message, { revision, cause: thrown.cause });
}

/**
 * Reads a page. If the values are so large that the response exceeds the message size limit, it requests fewer keys.
 */
async function readPageOfAtMost(calls: Calls, message: RangeMessage, limit: number): Promise<RangeResponse> {
  try {
    return await calls.range({ ...message, limit });
  } catch (thrown) {
    if (limit === 1 || !isCode(thrown, "too-large")) throw thrown;
    return readPageOfAtMost(calls, message, Math.ceil(limit / 8));
  }
}

function keysPerPage(items: readonly KeyValue[]): number {
  let bytes = 0;
  for (const item of items) bytes += item.key.length + item.value.length;
  const average = Math.max(1, bytes / items.length);
  return Math.max(1, Math.min(RANGE_PAGE_KEYS, Math.floor(RANGE_PAGE_BYTES / average)));
}

function pinnedTo(revision: number | undefined): { revision?: number } {
  // To etcd, revision 0 means the newest. The storage port has no revision 0, so revision 1 is read instead, which is
  // compacted or empty.
  return revision === undefined ? {} : { revision: Math.max(1, revision) };
}

function toKeys({ start, end }: RangeRequest): { key: string; rangeEnd?: string } {
  if (end === undefined) return start === "" ? EMPTY_RANGE : { key: start };
  const key = start === "" ? FIRST_KEY : start;
  return Buffer.compare(Buffer.from(end), Buffer.from(key)) <= 0 ? EMPTY_RANGE : { key, rangeEnd: end };
}

/** The range of all keys with a prefix, as etcd's key and range_end. */
export function prefixKeys(prefix: string): { key: string; rangeEnd: string } {
  if (prefix === "") return { key: FIRST_KEY, rangeEnd: ALL_KEYS_END };
  return { key: prefix, rangeEnd: prefixEnd(prefix) };
}

function isCode(thrown: unknown, code: StorageError["code"]): boolean {
  return thrown instanceof StorageError && thrown.code === code;
}

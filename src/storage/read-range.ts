/**
 * Reads a range page by page at one revision, for stores that bound the size of a response. If the caller requests the
 * newest revision, a compaction may remove the revision of the first page before all pages are read. The read then
 * restarts from the first page, up to four times, before the caller sees the error.
 */
import { StorageError, type KeyValue, type RangeRequest, type RangeResult } from "./kv.ts";

export interface PageRequest {
  readonly start: string;
  /** If it is undefined, the newest revision is read. */
  readonly revision: number | undefined;
  /** Number of keys still to be read, which may be more than a page holds; 0 if only the count is needed. */
  readonly limit: number;
  readonly isFirst: boolean;
}

export interface RangePage {
  /** The reader owns the array and appends the items of later pages to it. */
  readonly items: KeyValue[];
  /** Revision of the store when the page was read. */
  readonly revision: number;
  /** Number of keys in the whole range; undefined if the store has not counted them. */
  readonly count: number | undefined;
  /** The first key of the next page; undefined after the last page. */
  readonly nextStart: string | undefined;
}

const ATTEMPTS_MAX = 5;

export async function readRange(
  request: RangeRequest,
  readPage: (page: PageRequest) => Promise<RangePage>,
): Promise<RangeResult> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readPages(request, readPage);
    } catch (thrown) {
      const wasOvertaken =
        request.revision === undefined && thrown instanceof StorageError && thrown.code === "revision-compacted";
      if (!wasOvertaken || attempt === ATTEMPTS_MAX) throw thrown;
    }
  }
}

async function readPages(
  request: RangeRequest,
  readPage: (page: PageRequest) => Promise<RangePage>,
): Promise<RangeResult> {
  const wanted = request.countOnly === true ? 0 : (request.limit ?? Number.POSITIVE_INFINITY);
  const first = await readPage({ start: request.start, revision: request.revision, limit: wanted, isFirst: true });
  const { items } = first;
  const revision = request.revision ?? first.revision;
  let { nextStart } = first;
  while (nextStart !== undefined && items.length < wanted) {
    const page = await readPage({ start: nextStart, revision, limit: wanted - items.length, isFirst: false });
    for (const item of page.items) items.push(item);
    ({ nextStart } = page);
  }
  return { items, revision: first.revision, count: first.count ?? items.length };
}

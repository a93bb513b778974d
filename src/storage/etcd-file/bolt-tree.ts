/** Walks the trees of pages of a bbolt database, and finds its buckets. */
import { PAGE_HEADER_BYTES } from "./bolt-meta.ts";
import { branchChildren, isBranch, Leaf } from "./bolt-page.ts";
import { damaged } from "./damaged.ts";
import { SMALL_TREE_PAGES_MAX, TREE_DEPTH_MAX } from "./etcd-file-limits.ts";
import type { PageReader, PageView } from "./page-reader.ts";

/** A tree of pages, or a small bucket that is stored as one leaf inside the page of its parent. */
export type Bucket = { readonly rootPage: number } | { readonly inline: PageView };

/** Size of the header of a bucket: its root page and a counter. */
const BUCKET_BYTES = 16;
/** Two pages that are needed one after the other are read at once if at most this many pages are between them. */
const NEAR_PAGES = 8;

/** The value of an entry, or undefined if the bucket has no such key. For small buckets. */
export function smallBucketValue(pages: PageReader, bucket: Bucket, key: string): Buffer | undefined {
  const leaf = findLeaf(pages, bucket, key);
  return leaf === undefined ? undefined : Buffer.from(leaf.bytes.subarray(leaf.keyEnd, leaf.valueEnd));
}

/** Undefined if there is no such bucket at the top of the database. */
export function findBucket(pages: PageReader, rootPage: number, name: string): Bucket | undefined {
  const leaf = findLeaf(pages, { rootPage }, name);
  if (leaf === undefined) return undefined;
  if (!leaf.isBucket) throw damaged(`its bucket "${name}" is not a bucket`);
  const start = leaf.keyEnd;
  if (leaf.valueEnd - start < BUCKET_BYTES) throw damaged(`the header of its bucket "${name}" is too short`);
  const root = Number(leaf.bytes.readBigUInt64LE(start));
  if (root !== 0) return { rootPage: root };
  if (leaf.valueEnd - start < BUCKET_BYTES + PAGE_HEADER_BYTES) {
    throw damaged(`its bucket "${name}" is shorter than a page header`);
  }
  const bytes = Buffer.from(leaf.bytes.subarray(start + BUCKET_BYTES, leaf.valueEnd));
  return { inline: { bytes, start: 0, end: bytes.length, position: leaf.positionOf(start + BUCKET_BYTES) } };
}

/** The leaf that contains the key, with the entry selected. */
function findLeaf(pages: PageReader, bucket: Bucket, key: string): Leaf | undefined {
  const wanted = Buffer.from(key);
  for (const leaf of leavesBackwards(pages, bucket, SMALL_TREE_PAGES_MAX)) {
    for (let index = 0; index < leaf.count; index++) {
      leaf.select(index);
      if (wanted.compare(leaf.bytes, leaf.keyStart, leaf.keyEnd) === 0) return leaf;
    }
  }
  return undefined;
}

interface Branch {
  readonly children: ReturnType<typeof branchChildren>;
  /** Index of the child that is visited next; children before it follow. */
  next: number;
}

/**
 * Yields the leaves from the last key to the first. Each leaf is valid until the next one is requested. Throws if the
 * tree has more pages than `pagesMax`, which a tree with a cycle has, too. The caller checks the order of the keys.
 */
export function* leavesBackwards(
  pages: PageReader,
  bucket: Bucket,
  pagesMax = pages.pageCount,
): Generator<Leaf, void, void> {
  if ("inline" in bucket) {
    if (isBranch(bucket.inline)) throw damaged("a bucket inside of a page is a branch");
    yield new Leaf(bucket.inline);
    return;
  }
  const path: Branch[] = [];
  let page = bucket.rootPage;
  let firstKey: Buffer = Buffer.alloc(0);
  for (let pagesRead = 0; ;) {
    const view = pages.read(page);
    pagesRead += (view.end - view.start) / pages.pageSize;
    if (pagesRead > pagesMax) throw damaged("a tree has more pages than expected, or refers to one page several times");
    if (isBranch(view)) {
      if (path.length === TREE_DEPTH_MAX) throw damaged("a tree of pages is too deep");
      const children = branchChildren(view);
      path.push({ children, next: children.length - 1 });
    } else {
      const leaf = new Leaf(view);
      requireKeysFrom(leaf, firstKey);
      yield leaf;
    }
    while (path.length > 0 && path.at(-1)!.next < 0) path.pop();
    const branch = path.at(-1);
    if (branch === undefined) return;
    readNearChildren(pages, branch);
    ({ page, firstKey } = branch.children[branch.next--]!);
  }
}

/** Reads the next child together with the children after it that are near it in the file. */
function readNearChildren(pages: PageReader, { children, next }: Branch): void {
  let first = children[next]!.page;
  if (pages.isNear(first)) return;
  let last = first;
  const room = pages.windowPages - NEAR_PAGES;
  for (let index = next - 1; index >= 0; index--) {
    const { page } = children[index]!;
    if (page < first - NEAR_PAGES || page > last + NEAR_PAGES) break;
    if (Math.max(last, page) - Math.min(first, page) >= room) break;
    first = Math.min(first, page);
    last = Math.max(last, page);
  }
  // Overflow pages of the last child follow it.
  pages.readNear(first, first === last ? last : last + NEAR_PAGES);
}

/** A page that is not a part of this tree any more may have keys that belong to another page. */
function requireKeysFrom(leaf: Leaf, firstKey: Buffer): void {
  if (leaf.count === 0) return;
  leaf.select(0);
  if (firstKey.compare(leaf.bytes, leaf.keyStart, leaf.keyEnd) > 0) {
    throw damaged("a page has keys that belong to the page before it");
  }
}

/** Limits of the reader of etcd's database files. A hostile file must cost neither much memory nor much time. */

/** Maximum depth of a tree of pages. A tree with two children per page reaches 2^64 pages at this depth. */
export const TREE_DEPTH_MAX = 64;
/**
 * Maximum size of a page with its overflow pages. bbolt splits a page that has more than a few values, so only values of
 * many megabytes reach it; etcd itself rejects requests above 1.5 MB by default.
 */
export const PAGE_BYTES_MAX = 64 * 1024 * 1024;
/** Maximum number of pages in a tree that has only a few small entries in every etcd, such as the bucket "meta". */
export const SMALL_TREE_PAGES_MAX = 1024;
/** Maximum number of different keys. Their table would take 1 GB; a cluster has fewer than a tenth. */
export const KEYS_MAX = 40_000_000;
/** Maximum number of pairs of keys with the same 64-bit hash. One such pair is already very improbable. */
export const COLLISIONS_MAX = 100;
/** How much is read at once where the next pages are near each other in the file. */
export const WINDOW_BYTES = 256 * 1024;
/** How long the reader works before it lets the event loop handle signals and print progress. */
export const SLICE_MS = 10;

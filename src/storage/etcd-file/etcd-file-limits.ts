/** Limits of the reader of etcd's database files. A hostile file must cost neither much memory nor much time. */

/** Maximum depth of a tree of pages. A tree with two children per page reaches 2^64 pages at this depth. */
export const TREE_DEPTH_MAX = 64;
/**
 * Maximum size of a page with its overflow pages. bbolt splits a page that has more than a few values, so only values of
 * many megabytes reach it; etcd itself rejects requests above 1.5 MB by default.
 */
export const OVERFLOWING_PAGE_BYTES_MAX = 64 * 1024 * 1024;
/** Maximum size of a branch page, of which the reader keeps one per level. Those of etcd have one page. */
export const BRANCH_BYTES_MAX = 1024 * 1024;
/** Maximum number of pages in a tree that has only a few small entries in every etcd, such as the bucket "meta". */
export const SMALL_TREE_PAGES_MAX = 1024;
/** How much is read at once where the next pages are near each other in the file. */
export const WINDOW_BYTES = 256 * 1024;
/** Maximum size of a database that is unpacked. etcd's documentation recommends at most 8 GB. */
export const UNPACKED_BYTES_MAX = 64 * 1024 * 1024 * 1024;
/** Free space that unpacking leaves to the other programs of the machine. */
export const FREE_BYTES_KEPT = 256 * 1024 * 1024;

/**
 * Limits of the SQLite store. They keep memory, and the time that one request takes in the worker, from growing with
 * the load.
 */

/**
 * Maximum number and total size of the commits that wait while a batch is written; further commits are rejected with
 * `overloaded`.
 */
export const QUEUED_WRITES_MAX = 16_384;
export const QUEUED_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Maximum number and total size of the writes in one transaction. A larger transaction would not make commits faster,
 * and would delay the reads that wait for it to end.
 */
export const BATCH_WRITES_MAX = 1024;
export const BATCH_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Maximum number of turns of the event loop for which a batch stays open while each turn adds a write. Each turn handles
 * the requests that have arrived meanwhile, often only one.
 */
export const OPEN_TURNS_MAX = 32;

/** Maximum number of pending reads; further reads are rejected with `overloaded`. */
export const PENDING_READS_MAX = 8192;

/**
 * Maximum number of keys and bytes of one page. The values of a page share one buffer, which stays in memory as long as
 * any of these values is in use. Large pages would therefore keep outdated values in memory.
 */
export const PAGE_KEYS_MAX = 2000;
export const PAGE_BYTES_MAX = 1024 * 1024;
/** Maximum number of rows that a read scans for one page, including the deleted keys that it skips. */
export const PAGE_ROWS_SCANNED_MAX = 20_000;
/** Maximum number of revisions that a watch scans for one page of history. */
export const HISTORY_REVISIONS_MAX = 10_000;

/**
 * Number of revisions that one transaction compacts, in a few milliseconds. Commits can run between two such
 * transactions.
 */
export const COMPACTION_STEP_REVISIONS = 500;

/** Delay before the store retries a failed deletion of the keys of an expired lease. */
export const LEASE_RETRY_MS = 1000;

/** Interval at which an idle store checks that no other process has replaced its files. */
export const FILES_CHECK_MS = 1000;

/** Limits of the SQLite store, so that neither memory nor the time of one step grows with the load. */

/**
 * Maximum number and total size of the commits that wait for the current batch; more are rejected with `overloaded`.
 */
export const QUEUED_WRITES_MAX = 16_384;
export const QUEUED_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Maximum number of writes and bytes of one transaction. Larger ones do not make commits faster, and a read waits for a
 * batch to end.
 */
export const BATCH_WRITES_MAX = 1024;
export const BATCH_BYTES_MAX = 16 * 1024 * 1024;

/** Maximum number of pending reads; more are rejected with `overloaded`. */
export const PENDING_READS_MAX = 8192;

/**
 * Maximum number of keys and bytes of one reply. The values of a page share one buffer, which stays in memory as long
 * as any value of it: large pages would keep outdated values in memory.
 */
export const PAGE_KEYS_MAX = 2000;
export const PAGE_BYTES_MAX = 1024 * 1024;
/** Maximum number of rows that one page scans, including the deleted keys that it skips. */
export const PAGE_ROWS_SCANNED_MAX = 20_000;
/** Maximum number of revisions that one page of a watch's history scans. */
export const HISTORY_REVISIONS_MAX = 10_000;

/**
 * Number of revisions compacted in one transaction, which takes a few milliseconds. Commits run between two of them.
 */
export const COMPACTION_STEP_REVISIONS = 500;

/** Delay before a failed deletion of the keys of an expired lease is retried. */
export const LEASE_RETRY_MS = 1000;

/** Maximum number of commits that wait for the current batch; more are rejected with `overloaded`. */
export const QUEUED_WRITES_MAX = 16_384;
export const QUEUED_BYTES_MAX = 256 * 1024 * 1024;

/** Maximum size of one transaction. Larger ones do not make commits faster, and a read waits for a batch to end. */
export const BATCH_WRITES_MAX = 1024;
export const BATCH_BYTES_MAX = 16 * 1024 * 1024;

/** Maximum number of pending reads; more are rejected with `overloaded`. */
export const PENDING_READS_MAX = 8192;

/**
 * Maximum size of one reply. The values of a page share one buffer, which stays in memory as long as any value of it:
 * large pages would keep outdated values in memory.
 */
export const PAGE_KEYS_MAX = 2000;
export const PAGE_BYTES_MAX = 1024 * 1024;
/** Maximum number of rows that one page scans, including the deleted keys that it skips. */
export const PAGE_ROWS_SCANNED_MAX = 20_000;
/** Maximum number of revisions that one page of a watch's history scans. */
export const HISTORY_REVISIONS_MAX = 10_000;

/** Revisions compacted in one transaction: a few milliseconds, between which commits can run. */
export const COMPACTION_STEP_REVISIONS = 500;

/** Delay before the keys of an expired lease that could not be deleted are deleted again. */
export const LEASE_RETRY_MS = 1000;

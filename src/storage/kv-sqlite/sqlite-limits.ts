/** Commits that wait for the batch before them; more are refused with `overloaded`. */
export const QUEUED_WRITES_MAX = 16_384;
export const QUEUED_BYTES_MAX = 256 * 1024 * 1024;

/** One transaction. More does not make commits faster, and a reader waits for a batch to end. */
export const BATCH_WRITES_MAX = 1024;
export const BATCH_BYTES_MAX = 16 * 1024 * 1024;

/** Reads handed to the worker and not answered; more are refused with `overloaded`. */
export const PENDING_READS_MAX = 8192;

/**
 * One answer of the worker. The values of a page share one buffer, so a page lives as long as any value
 * of it: large pages would keep memory that is long out of date.
 */
export const PAGE_KEYS_MAX = 2000;
export const PAGE_BYTES_MAX = 1024 * 1024;
/** Deleted keys are skipped; this bounds how many one page may skip. */
export const PAGE_ROWS_SCANNED_MAX = 20_000;
/** Revisions of history looked at for one page of a watch. */
export const HISTORY_REVISIONS_MAX = 10_000;

/** Revisions compacted in one transaction: a few milliseconds, between which commits go on. */
export const COMPACTION_STEP_REVISIONS = 500;

/** Wait before an expired lease whose keys could not be deleted is tried again. */
export const LEASE_RETRY_MS = 1000;

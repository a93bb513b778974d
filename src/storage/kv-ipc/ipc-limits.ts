/**
 * Limits of a store that is served over a channel. They bound the memory that one client uses in the process that owns
 * the store.
 */

/** Maximum number of pending calls of one client; further calls are rejected with `overloaded`. */
export const PENDING_CALLS_MAX = 16_384;

/** Maximum number of watches of one client; a server needs a handful. */
export const WATCHES_MAX = 1_000;

/**
 * Maximum number and total size of the batches that were sent to one watch and that its client has not acknowledged. If
 * a client falls further behind, for example because its process is paused, its watch ends with `revision-compacted`
 * and the client must list again.
 */
export const UNTAKEN_BATCHES_MAX = 10_000;
export const UNTAKEN_BYTES_MAX = 64 * 1024 * 1024;

/** The client acknowledges events after this many batches or bytes. */
export const TAKEN_BATCHES = 32;
export const TAKEN_BYTES = 1024 * 1024;

/**
 * Maximum number of keys of one page. Ranges are read in pages, so that the size of a message does not grow with the
 * store.
 */
export const PAGE_KEYS = 1_000;

/** Calls of one client that have not been answered; more are refused with `overloaded`. */
export const PENDING_CALLS_MAX = 16_384;

/** Watches of one client; a server needs a handful. */
export const WATCHES_MAX = 1_000;

/**
 * What is on its way to one watch and not delivered. A client that has fallen further behind, because its process
 * stands still, is told that its revision is gone, and begins anew.
 */
export const UNTAKEN_BATCHES_MAX = 10_000;
export const UNTAKEN_BYTES_MAX = 64 * 1024 * 1024;

/** The client says what it has taken after so much of it. */
export const TAKEN_BATCHES = 32;
export const TAKEN_BYTES = 1024 * 1024;

/** A range is asked for in pages, so that no single message grows with the store. */
export const PAGE_KEYS = 1_000;

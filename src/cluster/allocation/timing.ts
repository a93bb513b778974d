/** How long a number may be allocated without a stored Service, and how late it may be released. */

/**
 * An allocation that is older than this when the Service is stored fails: a bit without a Service may be released some
 * minutes later. A removed IPAddress fails the write in any case. The time is enough for a webhook that times out.
 */
export const STORE_MS = 60_000;

/** A release that is later than this is left to the repair, which may already have released the number. */
export const RELEASE_MS = 60_000;

/** How long a number may be allocated without a stored Service, and how late it may be released. */

/**
 * An allocation that is older than this when the Service is stored fails. kube-apiserver removes an IPAddress without a
 * Service after 60 s; a removed IPAddress fails the write in any case, but a bit does not.
 */
export const STORE_MS = 30_000;

/** A release that is later than this is left to the repair, which may already have released the number. */
export const RELEASE_MS = 60_000;

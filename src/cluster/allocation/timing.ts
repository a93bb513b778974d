/** How long a number may be allocated without a stored Service, and how late it may be released. */

/**
 * An allocation that takes longer than this fails before the Service is stored. kube-apiserver removes an IPAddress
 * without a Service after 60 s.
 */
export const STORE_MS = 30_000;

/** The same for a Service that exists. kube-apiserver removes an IPAddress that such a Service does not have after 5 s. */
export const STORE_EXISTING_MS = 3_000;

/** A release that is later than this is left to the repair, which may already have released the number. */
export const RELEASE_MS = 60_000;

/** Maximum size of a request body, as kube-apiserver. */
export const BODY_BYTES_MAX = 3 * 1024 * 1024;
/** Maximum length of a label or field selector. */
export const SELECTOR_CHARACTERS_MAX = 64 * 1024;
/** Watches without their own timeout end after a random time between this and twice as long. */
export const WATCH_TIMEOUT_MS_MIN = 30 * 60_000;
export const BOOKMARK_INTERVAL_MS = 60_000;
/** A watch sends a last bookmark this long before it times out. */
export const BOOKMARK_BEFORE_END_MS = 2_000;

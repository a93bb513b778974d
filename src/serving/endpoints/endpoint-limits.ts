/** A request body; as kube-apiserver. */
export const BODY_BYTES_MAX = 3 * 1024 * 1024;
/** A label or field selector's text. */
export const SELECTOR_CHARACTERS_MAX = 64 * 1024;
/** Watches without a timeout of their own end after a random time from here to twice as long. */
export const WATCH_TIMEOUT_MS_MIN = 30 * 60_000;
export const BOOKMARK_INTERVAL_MS = 60_000;
/** A watch that is about to time out says first how far it got. */
export const BOOKMARK_BEFORE_END_MS = 2_000;

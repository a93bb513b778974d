/** Events kept per partition for watchers that start in the past or fall behind. */
export const HISTORY_EVENTS_MAX = 20_000;
/** The bytes those events may hold on to, per partition. */
export const HISTORY_BYTES_MAX = 64 * 1024 * 1024;
/** Younger events are kept within the bounds above; older ones go as soon as there are more than a few. */
export const HISTORY_AGE_MS = 5 * 60_000;
/** However old, this many are kept: an idle resource can still be resumed. */
export const HISTORY_EVENTS_MIN = 100;
/** A fresh read waits this long for the watch to catch up with the store before it reads the store itself. */
export const CATCH_UP_MS = 250;
/** A request for a version that does not exist yet waits this long for it. */
export const FUTURE_VERSION_WAIT_MS = 3_000;

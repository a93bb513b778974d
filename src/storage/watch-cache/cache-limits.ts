/** Limits of the watch cache: how much history it keeps, and how long reads wait for it. */

/** Maximum number of events per partition, kept for watchers that start in the past or fall behind. */
export const HISTORY_EVENTS_MAX = 20_000;
/** Maximum bytes of those events, per partition. */
export const HISTORY_BYTES_MAX = 64 * 1024 * 1024;
/** Younger events are kept within the limits above; older ones are dropped beyond the minimum below. */
export const HISTORY_AGE_MS = 5 * 60_000;
/** Number of events that are kept regardless of age, so that watches of an idle resource can resume. */
export const HISTORY_EVENTS_MIN = 100;
/** How long a consistent read waits for the watch to catch up before it reads the store itself. */
export const CATCH_UP_MS = 250;
/** How long a request waits for a resource version that does not exist yet. */
export const FUTURE_VERSION_WAIT_MS = 3_000;

/** Intervals of the encryption configuration, as kubernetes. */

/** Interval at which the file is read. */
export const RELOAD_INTERVAL_MS = 60_000;
/** Interval at which the plugins of a new configuration are called until they are healthy. */
export const HEALTH_POLL_MS = 100;
/** How long the plugins of a new configuration have to become healthy, at least. */
export const HEALTH_WAIT_MS_MIN = 10_000;
/** How long after a reload values may still arrive that were opened with the previous keys, at least. */
export const PREVIOUS_KEYS_MS_MIN = 10_000;
/** Delay before the second read of values is tried again after the store has failed. */
export const REREAD_RETRY_MS = 3_000;

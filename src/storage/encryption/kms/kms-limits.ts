/** Limits and intervals of KMS plugins. They are those of kubernetes, unless a comment names a difference. */

/**
 * The interval of status calls while the plugin is healthy, and while it is not. DIFFERS: kubernetes polls each minute,
 * and also when a client reads /readyz, at most at these intervals.
 */
export const STATUS_INTERVAL_MS = 20_000;
export const STATUS_RETRY_MS = 3_000;
/**
 * How long a check of the plugin may take before the plugin is unhealthy. DIFFERS: kubernetes waits for the timeout of
 * the plugin, which may be any duration.
 */
export const CHECK_WAIT_MS = 10_000;
/**
 * How long values are written with a data key after the status call that confirmed its key ID. Reads need no status
 * call.
 */
export const DATA_KEY_WRITE_MS = 3 * 60_000;
/** How long after a failed decryption of a data key the plugin is not asked for it again. */
export const DECRYPT_RETRY_MS = 3_000;
/**
 * How long reads and watches wait for the decryption of data keys. Values whose data keys arrive later are unreadable
 * until then. DIFFERS: kubernetes waits for the timeout of the plugin, which may be any duration.
 */
export const DATA_KEY_WAIT_MS = 2_000;

/** Default of the `timeout` of a plugin. */
export const KMS_TIMEOUT_MS = 3_000;

export const KEY_ID_BYTES_MAX = 1024;
export const DATA_KEY_BYTES_MAX = 1024;
export const ANNOTATIONS_BYTES_MAX = 32 * 1024;

/** Number of decrypted data keys in memory. A server has one for each of its starts and each rotation. */
export const DATA_KEYS_MAX = 10_000;
/** Number of data keys that a plugin decrypts at a time. */
export const DECRYPTIONS_MAX = 16;
/** Number of failed decryptions of data keys that are retried after each good status. */
export const DECRYPT_RETRIES_MAX = 100;
/** Messages of plugins are truncated in errors. */
export const PROBLEM_CHARACTERS_MAX = 256;

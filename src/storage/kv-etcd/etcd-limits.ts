/** Every bound and interval of the etcd client, in one place. */

/** Time limit of a request, including the wait for a connection. */
export const ETCD_REQUEST_TIMEOUT_MS = 5_000;

/**
 * Time limit for TCP, TLS and the first SETTINGS frame together. A stopped process accepts TCP but never sends
 * SETTINGS.
 */
export const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Delay between rounds over all endpoints. It doubles up to the maximum, and restarts from the minimum after a
 * connection that lasted for at least the maximum.
 */
export const ETCD_BACKOFF_MS_MIN = 50;
export const ETCD_BACKOFF_MS_MAX = 1_000;

/**
 * How long a request waits during a long outage: longer than the maximum backoff, so that at least one connection
 * attempt starts meanwhile. Waiting for the full request timeout would pile up requests that cannot succeed.
 */
export const UNREACHABLE_WAIT_MS = 1_500;

/** A connection that was silent for the interval is probed, and is dropped if there is no response in time. */
export const HEARTBEAT_INTERVAL_MS = 1_000;
export const HEARTBEAT_TIMEOUT_MS = 2_500;

/** A watch that etcd has not confirmed in this time is created again on a new stream. */
export const WATCH_CREATE_TIMEOUT_MS = 10_000;

/** Limits on the number and the total size of pending requests; beyond them the store is overloaded. */
export const REQUESTS_PENDING_MAX = 10_000;
export const REQUESTS_PENDING_BYTES_MAX = 128 * 1024 * 1024;

/** Maximum number of times that an idempotent request is sent if its connection is lost. */
export const ATTEMPTS_MAX = 3;

/**
 * etcd's own limit is 1.5 MiB unless it is configured higher; this one only keeps a bug from filling the connection.
 */
export const MESSAGE_SEND_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Maximum size of a response. A page can be large, because its limit is a number of keys and each value may have 1.5
 * MiB.
 */
export const MESSAGE_RECEIVE_BYTES_MAX = 64 * 1024 * 1024;

export const RANGE_PAGE_KEYS = 500;
/** Target size of a page; the number of keys requested follows the average size in the page before. */
export const RANGE_PAGE_BYTES = 4 * 1024 * 1024;

/** HTTP/2 flow control: big enough that a page streams without waiting for window updates. */
export const STREAM_WINDOW_BYTES = 8 * 1024 * 1024;
export const SESSION_WINDOW_BYTES = 32 * 1024 * 1024;
/** Node rejects new streams above this limit; it counts queued data in both directions. */
export const SESSION_MEMORY_MEGABYTES = 512;

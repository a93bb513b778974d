/** Every bound and interval of the etcd client, in one place. */

/** Longest time a request may take, waiting for a connection included. */
export const ETCD_REQUEST_TIMEOUT_MS = 5_000;

/** TCP, TLS and the first SETTINGS frame together. A stopped process accepts TCP but never sends SETTINGS. */
export const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Delay between rounds over all endpoints; doubles up to the maximum, and starts anew after a
 * connection that lasted for at least the maximum.
 */
export const ETCD_BACKOFF_MS_MIN = 50;
export const ETCD_BACKOFF_MS_MAX = 1_000;

/**
 * During a long outage a request still waits this long, so that it meets at least one whole attempt
 * to connect, but no longer: a request timeout per request would pile up work that cannot succeed.
 */
export const UNREACHABLE_WAIT_MS = 1_500;

/** A connection that was silent for the interval is asked for a sign of life, and is dropped without one. */
export const HEARTBEAT_INTERVAL_MS = 1_000;
export const HEARTBEAT_TIMEOUT_MS = 2_500;

/** A watch that etcd has not confirmed by then is asked for again on a new stream. */
export const WATCH_CREATE_TIMEOUT_MS = 10_000;

/** Requests accepted at a time, and the sum of their sizes; beyond, the store is overloaded. */
export const REQUESTS_PENDING_MAX = 10_000;
export const REQUESTS_PENDING_BYTES_MAX = 128 * 1024 * 1024;

/** Sends of an idempotent request whose connection was lost under it. */
export const ATTEMPTS_MAX = 3;

/**
 * etcd's own limit is 1.5 MiB unless it is configured higher; this one only keeps a mistake from
 * filling the connection.
 */
export const MESSAGE_SEND_BYTES_MAX = 16 * 1024 * 1024;

/** A page of keys can be this big: values of 1.5 MiB are allowed, and pages are counted in keys. */
export const MESSAGE_RECEIVE_BYTES_MAX = 64 * 1024 * 1024;

export const RANGE_PAGE_KEYS = 500;
/** What a page should weigh; the number of keys asked for follows the average of the page before. */
export const RANGE_PAGE_BYTES = 4 * 1024 * 1024;

/** HTTP/2 flow control: big enough that a page streams without waiting for window updates. */
export const STREAM_WINDOW_BYTES = 8 * 1024 * 1024;
export const SESSION_WINDOW_BYTES = 32 * 1024 * 1024;
/** Node refuses new streams above this; it counts what is queued in both directions. */
export const SESSION_MEMORY_MEGABYTES = 512;

/** Every limit and interval of the etcd client. */

/** Time limit of a request, including the wait for a connection. */
export const ETCD_REQUEST_TIMEOUT_MS = 5_000;

/**
 * Time limit for connecting: TCP, TLS and the first SETTINGS frame together. Without SETTINGS a stopped process would
 * look connected, because the kernel still accepts its TCP connections.
 */
export const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Delay between two rounds over all endpoints. It doubles up to the maximum, and returns to the minimum after a
 * connection that was ready for at least the maximum.
 */
export const ETCD_BACKOFF_MS_MIN = 50;
export const ETCD_BACKOFF_MS_MAX = 1_000;

/**
 * How long a request waits for a connection during a long outage. It is longer than the maximum backoff, so that at
 * least one connection attempt starts while the request waits. If requests waited for the full request timeout,
 * requests that cannot succeed would pile up.
 */
export const UNREACHABLE_WAIT_MS = 1_500;

/**
 * A connection on which nothing arrived for the interval is probed, and dropped if no response arrives within the
 * timeout.
 */
export const HEARTBEAT_INTERVAL_MS = 1_000;
export const HEARTBEAT_TIMEOUT_MS = 2_500;

/** Time limit for comparing the history of etcd on a new connection. Until then requests wait for the connection. */
export const HISTORY_CHECK_TIMEOUT_MS = 5_000;
/** Interval at which the history is compared on a connection that stays open. */
export const HISTORY_CHECK_INTERVAL_MS = 5_000;

/** If etcd does not confirm a watch within this time, the watches are created again on a new stream. */
export const WATCH_CREATE_TIMEOUT_MS = 10_000;

/** Maximum number and total size of pending requests. Further requests are rejected with `overloaded`. */
export const REQUESTS_PENDING_MAX = 10_000;
export const REQUESTS_PENDING_BYTES_MAX = 128 * 1024 * 1024;

/**
 * Maximum number of attempts of a request. A request is resent if no byte of it left this process, or if it is
 * idempotent and the connection was lost.
 */
export const ATTEMPTS_MAX = 3;

/**
 * Maximum size of a request. etcd's own default limit is 1.5 MiB; this limit only keeps a bug from filling the
 * connection.
 */
export const MESSAGE_SEND_BYTES_MAX = 16 * 1024 * 1024;

export const RANGE_PAGE_KEYS = 500;
/**
 * Target size of a page. The number of keys requested for the next page follows from the average size of the keys and
 * values in the previous one.
 */
export const RANGE_PAGE_BYTES = 4 * 1024 * 1024;

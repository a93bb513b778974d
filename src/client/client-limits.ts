/** Maximum number of retries of a request, as client-go. */
export const RETRIES_MAX = 10;
/** Wait before the retry of a read whose connection broke before the response, as client-go. */
export const BROKEN_CONNECTION_WAIT_MS = 1_000;
/**
 * Wait before the retry of a refused connection. It is short, because a refused connection does not load any server.
 */
export const REFUSED_CONNECTION_WAIT_MS = 500;
/** Default of `waitForServerMs` with `ifReadyHeader`: the time of a slow startup. */
export const WAIT_FOR_SERVER_MS = 60_000;
/** Longer Retry-After values are not waited for: the caller receives the error and decides. */
export const RETRY_AFTER_SECONDS_MAX = 300;

/**
 * Maximum size of a response that is read as a whole, such as a complete list. Much larger ones do not fit into a
 * string.
 */
export const RESPONSE_BYTES_MAX = 256 * 1024 * 1024;
/** Maximum size of the body of an error response. */
export const ERROR_BYTES_MAX = 1024 * 1024;
/** Maximum size of a watch event. Stored objects stay below 3 MiB; their text in a stream may be longer. */
export const EVENT_BYTES_MAX = 16 * 1024 * 1024;

/** Page size of lists, as client-go. */
export const PAGE_ITEMS = 500;

/** Waits after failures double from the minimum to the maximum, plus up to as much again at random. As client-go. */
export const BACKOFF_MS_MIN = 800;
export const BACKOFF_MS_MAX = 30_000;
/** After this time without a failure, the next wait is the minimum again. As client-go. */
export const BACKOFF_RESET_MS = 120_000;

/** Minimum of the timeout that watches request; the maximum is twice as long. As client-go. */
export const WATCH_SECONDS_MIN = 300;
/** A watch that the server has not ended this long after its timeout is considered dead. */
export const WATCH_GRACE_MS = 30_000;
/** A streaming list without an event for this long is considered failed. */
export const STREAMING_LIST_SILENCE_MS = 30_000;
/** A watch that ends within this time without an event counts as a failure, as client-go. */
export const WATCH_SHORT_MS = 1_000;

/** An informer stops reading while one of its handlers has more than this many pending notifications. */
export const HANDLER_BACKLOG = 10_000;
/** Number of bytes that an in-process stream buffers before its writer has to wait. */
export const IN_PROCESS_BUFFER_BYTES = 1024 * 1024;

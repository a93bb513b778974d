/** The limits and times of the client. */

/** Maximum number of retries of a request, as client-go. */
export const RETRIES_MAX = 10;
/** Wait before the retry of a read whose connection broke before the response, as client-go. */
export const BROKEN_CONNECTION_WAIT_MS = 1_000;
/**
 * Wait before the retry of a refused connection. It is short, because a refused connection does not load any server.
 */
export const REFUSED_CONNECTION_WAIT_MS = 500;
/** Default of `waitForServerMs` if `ifReadyHeader` is set: long enough for a slow server to start. */
export const WAIT_FOR_SERVER_MS = 60_000;
/** If a server sends a longer Retry-After, the client does not wait: it returns the error to the caller. */
export const RETRY_AFTER_SECONDS_MAX = 300;

/**
 * Maximum size of a response that is read as a whole, such as a complete list. A much larger response does not fit into
 * a JavaScript string.
 */
export const RESPONSE_BYTES_MAX = 256 * 1024 * 1024;
/** Maximum size of the body of an error response. */
export const ERROR_BYTES_MAX = 1024 * 1024;
/**
 * Maximum size of a watch event. Stored objects stay below 3 MiB, but the JSON of an event may be longer than the
 * stored object.
 */
export const EVENT_BYTES_MAX = 16 * 1024 * 1024;

/** Page size of lists, as client-go. */
export const PAGE_ITEMS = 500;

/**
 * The wait after a failure doubles from the minimum to the maximum; a random time of up to the same length is added. As
 * client-go.
 */
export const BACKOFF_MS_MIN = 800;
export const BACKOFF_MS_MAX = 30_000;
/** After this time without a failure, the wait is the minimum again. As client-go. */
export const BACKOFF_RESET_MS = 120_000;

/** Watches request a random timeout between this minimum and twice as much. As client-go. */
export const WATCH_SECONDS_MIN = 300;
/** The client closes a watch that the server has not ended this long after the requested timeout. */
export const WATCH_GRACE_MS = 30_000;
/** A streaming list fails if no event arrives for this long. */
export const STREAMING_LIST_SILENCE_MS = 30_000;
/** A watch that ends within this time without an event counts as a failure, as client-go. */
export const WATCH_SHORT_MS = 1_000;

/** An informer stops reading while one of its handlers has more than this many pending notifications. */
export const HANDLER_BACKLOG = 10_000;
/** Number of bytes that an in-process stream buffers before its writer has to wait. */
export const IN_PROCESS_BUFFER_BYTES = 1024 * 1024;

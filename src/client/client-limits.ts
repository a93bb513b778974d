/** As client-go: a request is asked again this often at most. */
export const RETRIES_MAX = 10;
/** As client-go: a read whose connection broke before the answer is asked again after this time. */
export const BROKEN_CONNECTION_WAIT_MS = 1_000;
/** Nobody listens: nobody is troubled by being tried again soon. */
export const REFUSED_CONNECTION_WAIT_MS = 500;
/** What a client that would rather wait than be answered wrongly waits for somebody to listen: a slow start's time. */
export const WAIT_FOR_SERVER_MS = 60_000;
/** A server that asks for more patience than this gets none: the caller is told, and decides. */
export const RETRY_AFTER_SECONDS_MAX = 300;

/** One answer, read whole; a list of everything is the largest. Larger ones do not fit into a string. */
export const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
/** The body of an answer that says no. */
export const ERROR_BYTES_MAX = 1024 * 1024;
/** One event of a watch. Stored objects stay below 3 MiB; their text in a stream may be longer. */
export const EVENT_BYTES_MAX = 16 * 1024 * 1024;

/** As client-go: what a list is asked for at a time. */
export const PAGE_ITEMS = 500;

/** As client-go: waits after failures grow from here, by a factor of two, to there, plus up to as much again. */
export const BACKOFF_MS_MIN = 800;
export const BACKOFF_MS_MAX = 30_000;
/** As client-go: after this long without a failure the waits start anew. */
export const BACKOFF_RESET_MS = 120_000;

/** As client-go: watches ask to be ended after a random time from here to twice as long. */
export const WATCH_SECONDS_MIN = 300;
/** A watch that the server has not ended this long after it should have is taken for dead. */
export const WATCH_GRACE_MS = 30_000;
/** A streaming list that is silent for this long is not going to say that it is complete. */
export const STREAMING_LIST_SILENCE_MS = 30_000;
/** As client-go: a watch that ends within this time without an event was not worth opening. */
export const WATCH_SHORT_MS = 1_000;

/** An informer stops reading while one of its handlers has more than this many notifications to go. */
export const HANDLER_BACKLOG = 10_000;
/** What a stream inside the process may hold for a reader before its writer is told to wait. */
export const IN_PROCESS_BUFFER_BYTES = 1024 * 1024;

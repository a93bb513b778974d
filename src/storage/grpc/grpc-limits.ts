/** Limits of a gRPC connection. They suit etcd, which sends the largest messages. */

/**
 * Maximum size of a response. A page can be large, because it is limited by the number of keys, and each value may have
 * 1.5 MiB.
 */
export const MESSAGE_RECEIVE_BYTES_MAX = 64 * 1024 * 1024;

/** HTTP/2 flow-control window, large enough that a page streams without waiting for window updates. */
export const STREAM_WINDOW_BYTES = 8 * 1024 * 1024;
export const SESSION_WINDOW_BYTES = 32 * 1024 * 1024;
/**
 * Node's memory limit for an HTTP/2 session, which counts queued data in both directions. Node rejects new streams
 * above it.
 */
export const SESSION_MEMORY_MEGABYTES = 512;

/**
 * Limits on the resources that other servers may consume. The documents of a real release have about 4 MB in OpenAPI 2,
 * 1 MB in 3.
 */

export const PEER_DOCUMENT_BYTES_MAX = 32 * 1024 * 1024;
export const PEER_INDEX_BYTES_MAX = 4 * 1024 * 1024;
/** Group versions of one server. */
export const PEER_INDEX_PATHS_MAX = 10_000;
/** Models refer to each other by name, so real documents stay flat; the code that walks them is recursive. */
export const PEER_DOCUMENT_DEPTH_MAX = 600;

/** Cached OpenAPI 3 documents of other servers. */
export const V3_CACHE_BYTES_MAX = 32 * 1024 * 1024;
/** Cached OpenAPI 2 documents of other servers for the next merge; documents that do not fit are not merged. */
export const V2_CACHE_BYTES_MAX = 64 * 1024 * 1024;

/** Timeout of one request to another server. */
export const PEER_REQUEST_TIMEOUT_MS = 5_000;
/** Minimum time before the same request is repeated: a server that hangs must not delay every request. */
export const PEER_RETRY_MS = 5_000;
/** Servers with the same document that are tried in turn for one request. */
export const PEERS_TRIED_MAX = 3;

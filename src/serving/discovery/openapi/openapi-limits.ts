/**
 * Limits on the memory and time that the documents of peers may cost. The OpenAPI 2 document of kube-apiserver has
 * about 4 MB, and its OpenAPI 3 documents have up to about 1 MB. Those of Evenkeel have no descriptions and are about a
 * quarter of that size.
 */

export const PEER_DOCUMENT_BYTES_MAX = 32 * 1024 * 1024;
export const PEER_INDEX_BYTES_MAX = 4 * 1024 * 1024;
/** Maximum number of group versions in the index of one peer. */
export const PEER_INDEX_PATHS_MAX = 10_000;
/**
 * Maximum nesting of a document, because the code that walks it is recursive. Models refer to each other by name, so
 * the documents of a release are much flatter.
 */
export const PEER_DOCUMENT_DEPTH_MAX = 600;

/** Size of the cache of OpenAPI 3 documents of peers, and of that of custom resources. */
export const V3_CACHE_BYTES_MAX = 32 * 1024 * 1024;
/**
 * Size of the cache of OpenAPI 2 documents of peers, from which the merged document is built. The merged document omits
 * a document that does not fit into the cache.
 */
export const V2_CACHE_BYTES_MAX = 64 * 1024 * 1024;

/** Timeout of one request to a peer. */
export const PEER_REQUEST_TIMEOUT_MS = 5_000;
/**
 * Minimum time before the same request to a peer is repeated, so that a peer that hangs does not delay every client
 * request.
 */
export const PEER_RETRY_MS = 5_000;
/** Maximum number of peers with the same document that are tried for one client request. */
export const PEERS_TRIED_MAX = 3;

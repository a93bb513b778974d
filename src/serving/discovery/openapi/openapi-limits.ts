/** Bounds on what other servers may cost. The documents of a real release have about 4 MB in OpenAPI 2, 1 MB in 3. */

export const PEER_DOCUMENT_BYTES_MAX = 32 * 1024 * 1024;
export const PEER_INDEX_BYTES_MAX = 4 * 1024 * 1024;
/** Group versions of one server. */
export const PEER_INDEX_PATHS_MAX = 10_000;
/** Models refer to each other by name, so real documents stay flat; what walks over them is recursive. */
export const PEER_DOCUMENT_DEPTH_MAX = 600;

/** OpenAPI 3 documents of other servers kept here. */
export const V3_CACHE_BYTES_MAX = 32 * 1024 * 1024;
/** OpenAPI 2 documents of other servers kept for the next merge; what does not fit is not merged. */
export const V2_CACHE_BYTES_MAX = 64 * 1024 * 1024;

/** How long one question to another server may take. */
export const PEER_ANSWER_MS = 5_000;
/** After an answer, or none in time, the same is not asked again sooner: a server that hangs must not slow every request. */
export const PEER_ASK_AGAIN_MS = 5_000;
/** Servers with the same document that are tried, one after the other, for one request. */
export const PEERS_TRIED_MAX = 3;

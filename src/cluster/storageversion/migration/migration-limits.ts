/** Objects per page: a page five times as large blocks a server for 10 ms. */
export const MIGRATION_PAGE_ITEMS = 100;
/** Objects in flight at once: enough to keep a store with group commit busy, few enough not to slow down clients. */
export const CONCURRENCY = 4;
export const OBJECTS_PER_SECOND = 2_000;
/** Maximum backlog that may be sent at once after a pause. */
export const BURST_MS = 20;

/** For one attempt of one request. */
export const REQUEST_TIMEOUT_MS = 30_000;
export const RETRY_MS_MIN = 100;
export const RETRY_MS_MAX = 10_000;
/** One request is retried for this long; then the pass pauses and is resumed later. */
export const PATIENCE_MS = 60_000;
/** Maximum Retry-After that is honored beyond that. */
export const PAUSE_MS_MAX = 600_000;
export const PAUSE_MS_MIN = 10_000;
/** After this many consecutive objects with 500, the server is considered broken, not the objects. */
export const BROKEN_OBJECTS_MAX = 8;

export const FAILURES_LISTED_MAX = 100;
export const FAILURE_CHARACTERS_MAX = 512;
/** Lists that expired without a token to continue with. */
export const FRESH_STARTS_MAX = 3;

/** Consecutive passes during which the StorageVersion object changed. */
export const PASSES_MAX = 5;
export const RESTLESS_PAUSE_MS = 60_000;

/** A successor repeats at most the work of this interval after a migrator is killed. */
export const PROGRESS_INTERVAL_MS = 5_000;

/** Every live server has seen a change of a CRD by then; only entries written since then count for its agreement. */
export const DEFINITION_SETTLED_MS = 5_000;

/** As the external storage version migrator. */
export const HEARTBEAT_MS = 600_000;
/** State of a resource that no server has stored for this long is dropped. */
export const FORGET_MS = 30 * 24 * 3_600_000;

/** After failures of single objects, which an operator must fix first. */
export const FAILED_RETRY_MS_MIN = 300_000;
export const FAILED_RETRY_MS_MAX = 3_600_000;

/** Limits for one value of the state; all values together must fit into one ConfigMap. */
export const STATE_VERSIONS_MAX = 32;
export const STATE_FAILURES_MAX = 10;
export const STATE_TEXT_CHARACTERS_MAX = 256;
export const STATE_TOKEN_CHARACTERS_MAX = 4_096;
/** Each conflict means that another client has just written. */
export const STATE_RACES_MAX = 10;
export const STATE_RETRY_MS = 20;
/** A controller that stops waits for it. */
export const STATE_TIMEOUT_MS = 5_000;

/** As kubernetes: a resource that is missing in discovery may be about to appear. */
export const DISCOVERY_GRACE_MS = 60_000;

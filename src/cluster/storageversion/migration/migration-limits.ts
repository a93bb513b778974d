/** The limits and times of storage migrations. */

/** Number of objects per page. A page five times as large would block a server for 10 ms. */
export const MIGRATION_PAGE_ITEMS = 100;
/**
 * Maximum number of objects in flight at the same time: enough to keep a store with group commit busy, and few enough
 * not to slow down clients.
 */
export const CONCURRENCY = 4;
export const OBJECTS_PER_SECOND = 2_000;
/** Maximum amount of missed time that the rate limit makes up for after a pause. */
export const BURST_MS = 20;

/** Timeout of one attempt of a request. */
export const REQUEST_TIMEOUT_MS = 30_000;
export const RETRY_MS_MIN = 100;
export const RETRY_MS_MAX = 10_000;
/** How long one request is retried. After that the pass pauses and is resumed later. */
export const PATIENCE_MS = 60_000;
/** Maximum time for which a pass pauses, even if Retry-After is longer. */
export const PAUSE_MS_MAX = 600_000;
export const PAUSE_MS_MIN = 10_000;
/** If this many consecutive objects fail with 500, the server counts as broken, not the objects. */
export const BROKEN_OBJECTS_MAX = 8;

export const FAILURES_LISTED_MAX = 100;
export const FAILURE_CHARACTERS_MAX = 512;
/** How often a pass replaces an expired or invalid continue token before it pauses. */
export const FRESH_STARTS_MAX = 3;

/** Maximum number of consecutive passes during which the StorageVersion object changed. */
export const PASSES_MAX = 5;
export const RESTLESS_PAUSE_MS = 60_000;

/**
 * How often the position is recorded. If a migrator is killed, the next one repeats at most the work of this interval.
 */
export const PROGRESS_INTERVAL_MS = 5_000;

/**
 * Time after which every live server has seen a change of a CRD. An agreement counts for the changed CRD only if it is
 * read later than that.
 */
export const DEFINITION_SETTLED_MS = 5_000;

/** How often the state of a resource is confirmed, as the external storage version migrator does. */
export const HEARTBEAT_MS = 600_000;
/** If no server has stored a resource for this long, its state is dropped. */
export const FORGET_MS = 30 * 24 * 3_600_000;

/**
 * Delay before a migration in which single objects failed is retried. It is long, because an operator must fix the
 * objects first.
 */
export const FAILED_RETRY_MS_MIN = 300_000;
export const FAILED_RETRY_MS_MAX = 3_600_000;

/** Limits of the state of one resource. The states of all resources together must fit into one ConfigMap. */
export const STATE_VERSIONS_MAX = 32;
export const STATE_FAILURES_MAX = 10;
export const STATE_TEXT_CHARACTERS_MAX = 256;
export const STATE_TOKEN_CHARACTERS_MAX = 4_096;
/** Maximum number of attempts to write the state. Each conflict means that another client has just written it. */
export const STATE_RACES_MAX = 10;
export const STATE_RETRY_MS = 20;
/** Timeout of a write of the state, for which a stopping controller waits. */
export const STATE_TIMEOUT_MS = 5_000;

/**
 * As kubernetes: a migration waits this long for a resource that is missing in discovery, because it may be about to
 * appear.
 */
export const DISCOVERY_GRACE_MS = 60_000;

/** How many objects are listed at a time: five times as many keep a server from everybody else for 10 ms. */
export const MIGRATION_PAGE_ITEMS = 100;
/** Objects under way at once: enough to keep a store with group commit busy, few enough to stay out of clients' way. */
export const CONCURRENCY = 4;
export const OBJECTS_PER_SECOND = 2_000;
/** What may be caught up at once after a pause. */
export const BURST_MS = 20;

/** For one attempt of one request. */
export const REQUEST_TIMEOUT_MS = 30_000;
export const RETRY_MS_MIN = 100;
export const RETRY_MS_MAX = 10_000;
/** One request is asked again for this long; then the pass stops, to be resumed later. */
export const PATIENCE_MS = 60_000;
/** A server may ask for more time than that, up to here. */
export const PAUSE_MS_MAX = 600_000;
export const PAUSE_MS_MIN = 10_000;
/** So many objects in a row that nothing but 500 could be had for: not the objects are broken, but the server. */
export const BROKEN_OBJECTS_MAX = 8;

export const FAILURES_LISTED_MAX = 100;
export const FAILURE_CHARACTERS_MAX = 512;
/** Lists that expired without saying how to go on. */
export const FRESH_STARTS_MAX = 3;

/** Passes in a row that the StorageVersion object changed under. */
export const PASSES_MAX = 5;
export const RESTLESS_PAUSE_MS = 60_000;

/** A killed migrator does what it did in this time once more. */
export const PROGRESS_INTERVAL_MS = 5_000;

/** Every server that lives has heard of a definition by then; only what it says since then counts for its agreement. */
export const DEFINITION_SETTLED_MS = 5_000;

/** As the external tool. */
export const HEARTBEAT_MS = 600_000;
/** Nobody has stored the resource for this long: what is known of it is forgotten. */
export const FORGET_MS = 30 * 24 * 3_600_000;

/** After failures of single objects: somebody has to do something about them first. */
export const FAILED_RETRY_MS_MIN = 300_000;
export const FAILED_RETRY_MS_MAX = 3_600_000;

/** What a value of the state may hold; all of them together must fit into one ConfigMap. */
export const STATE_VERSIONS_MAX = 32;
export const STATE_FAILURES_MAX = 10;
export const STATE_TEXT_CHARACTERS_MAX = 256;
export const STATE_TOKEN_CHARACTERS_MAX = 4_096;
/** Each lost race means that somebody else has just written. */
export const STATE_RACES_MAX = 10;
export const STATE_RETRY_MS = 20;
/** Whoever is to stop waits for it. */
export const STATE_TIMEOUT_MS = 5_000;

/** As kubernetes: a resource that discovery does not show may be about to appear. */
export const DISCOVERY_GRACE_MS = 60_000;

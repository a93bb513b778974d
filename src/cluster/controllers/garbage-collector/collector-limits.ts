/** The limits and times of the garbage collector. */

/** Number of absent owners that are remembered, as kubernetes. */
export const ABSENT_OWNERS_MAX = 500;
/** Number of objects that are examined at the same time, as kubernetes' --concurrent-gc-syncs. */
export const WORKERS = 20;
/** Delay after a conflict: the watch event of the other client's write will arrive by then. */
export const CONFLICT_RETRY_MS = 100;
/** Minimum and maximum delay before an unreachable resource is requested again; they limit Retry-After. */
export const UNAVAILABLE_MS_MIN = 1_000;
export const UNAVAILABLE_MS_MAX = 5_000;
/** A request without a response for this long is aborted, because it occupies a worker. */
export const REQUEST_MS = 30_000;
/**
 * Delay before the kind of an owner is looked up again if no server serves it. A change of the served resources
 * triggers the lookup earlier.
 */
export const UNKNOWN_KIND_MS = 60_000;
/** Delay after a rejection: a server that rejects a request will soon reject it again. */
export const REJECTED_RETRY_MS = 60_000;
/**
 * Delay before the next read of an owner that exists but that no watch has shown yet. No watch would report its deletion.
 */
export const UNSEEN_OWNER_MS = 10_000;
/** How often to check whether all resources that may hold dependents are watched again. */
export const DEPENDENTS_UNKNOWN_MS = 2_000;
/** Number of dependents of one owner that are orphaned at the same time. */
export const ORPHANS_AT_ONCE = 16;
/** Maximum number of objects that are examined to find a circle of owners. */
export const CIRCLE_NODES_MAX = 10_000;
/** A watch that has been open for this long without an error counts as working, even if no event arrived. */
export const WATCH_WORKS_MS = 1_000;
/** Minimum delay before a failed monitor restarts, however often the served resources change. */
export const RESTART_MS_MIN = 1_000;
/** Interval at which served and watched resources are compared even if no change was notified. */
export const COMPARE_MS = 30_000;
/** Minimum delay between two comparisons, however many changes are notified: there may be thousands of resources. */
export const COMPARE_MS_MIN = 200;
/**
 * Maximum number of kinds and resources whose log messages are remembered. It is limited because any client can write
 * owner references with new names.
 */
export const COMPLAINTS_MAX = 1_000;
/** Maximum number of names of namespaces, groups and kinds that are kept to share one string among all objects. */
export const SHARED_TEXTS_MAX = 10_000;

/** Number of invalid references that are remembered, so that each is reported once. */
export const REPORTED_MAX = 1_000;
/** Number of invalid references that may be reported in a row; after that, one per REPORT_REFILL_MS. */
export const REPORTS_BURST = 25;
export const REPORT_REFILL_MS = 10_000;
/** The namespace of events about cluster-scoped objects. */
export const CLUSTER_EVENTS_NAMESPACE = "default";

/** A resource that has not been watched for this long is logged. */
export const UNWATCHED_LOG_MS = 5_000;
/** Interval at which the resources that are not watched are examined for the log. */
export const UNWATCHED_CHECK_MS = 1_000;
/** Minimum and maximum interval between two log lines about one resource. The interval doubles with each line. */
export const RELOG_MS_MIN = 60_000;
export const RELOG_MS_MAX = 3_600_000;

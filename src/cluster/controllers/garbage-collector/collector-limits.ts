/** Number of absent owners that are remembered, as kubernetes. */
export const ABSENT_OWNERS_MAX = 500;
/** As kubernetes' --concurrent-gc-syncs. */
export const WORKERS = 20;
/** Another client has just written: its watch event will arrive. */
export const CONFLICT_RETRY_MS = 100;
/** Minimum and maximum delay before an unreachable resource is requested again, whatever its Retry-After. */
export const UNAVAILABLE_MS_MIN = 1_000;
export const UNAVAILABLE_MS_MAX = 5_000;
/** A request without a response for this long is aborted, because it occupies a worker. */
export const REQUEST_MS = 30_000;
/** Changes of the served resources trigger a retry; this is for missed ones. */
export const UNKNOWN_KIND_MS = 60_000;
/** A server that rejects a request will reject it again. */
export const REJECTED_RETRY_MS = 60_000;
/** For an owner that exists but that no watch has shown yet: its deletion before that would not be reported. */
export const UNSEEN_OWNER_MS = 10_000;
/** How often to check whether all resources that may hold dependents are watched again. */
export const DEPENDENTS_UNKNOWN_MS = 2_000;
/** Dependents of one owner that are processed at a time. */
export const ORPHANS_AT_ONCE = 16;
/** Maximum number of nodes examined for circles of owners. */
export const CIRCLE_NODES_MAX = 10_000;
/** A watch that is open for this long without an error is considered working, even if no event arrived. */
export const WATCH_WORKS_MS = 1_000;
/** Minimum delay before a failed monitor restarts, however often the served resources change. */
export const RESTART_MS_MIN = 1_000;
/** How often served and watched resources are compared without a notification. */
export const COMPARE_MS = 30_000;
/** Minimum delay between comparisons, however many notifications arrive: there may be thousands of resources. */
export const COMPARE_MS_MIN = 200;
/** Kinds and resources that have been logged; their names may come from any client. */
export const COMPLAINTS_MAX = 1_000;
/** Namespace names that are shared among all objects. */
export const SHARED_TEXTS_MAX = 10_000;

/** Warnings about invalid references: each once, with at most this many in a row. */
export const REPORTED_MAX = 1_000;
export const REPORTS_BURST = 25;
export const REPORT_REFILL_MS = 10_000;
/** The namespace of events about cluster-scoped objects. */
export const CLUSTER_EVENTS_NAMESPACE = "default";

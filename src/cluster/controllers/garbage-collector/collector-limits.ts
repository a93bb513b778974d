/** As kubernetes: so many absent owners are remembered. */
export const ABSENT_OWNERS_MAX = 500;
/** As kubernetes' --concurrent-gc-syncs. */
export const WORKERS = 20;
/** Somebody else has just written: their news is on its way. */
export const CONFLICT_RETRY_MS = 100;
/** Whatever cannot be reached is asked again no sooner than this and no later than that, whatever it asks for. */
export const UNAVAILABLE_MS_MIN = 1_000;
export const UNAVAILABLE_MS_MAX = 5_000;
/** Whoever does not answer for so long keeps a worker from other objects. */
export const REQUEST_MS = 30_000;
/** Nothing but a change of what is served helps, of which one is told: this is for what one is not told. */
export const UNKNOWN_KIND_MS = 60_000;
/** A server that refuses to do something will refuse again. */
export const REFUSED_MS = 60_000;
/** An owner that is there but was not seen by a watch yet: should it vanish before, nobody says so. */
export const UNSEEN_OWNER_MS = 10_000;
/** How often one looks whether all resources that may hold dependents are followed again. */
export const DEPENDENTS_UNKNOWN_MS = 2_000;
/** Dependents of one owner that are worked on at a time. */
export const ORPHANS_AT_ONCE = 16;
/** How far circles of owners are followed. */
export const CIRCLE_NODES_MAX = 10_000;
/** A watch that is open for so long without complaint is taken to work, also when nothing has happened. */
export const WATCH_WORKS_MS = 1_000;
/** A monitor that fails is not started anew more often than this, however often what is served changes. */
export const RESTART_MS_MIN = 1_000;
/** How often what is served is compared with what is followed when nobody says that it has changed. */
export const COMPARE_MS = 30_000;
/** And no more often than this, however often somebody does: there may be thousands of resources. */
export const COMPARE_MS_MIN = 200;
/** Kinds and resources about which has been complained; what they are called may come from anybody. */
export const COMPLAINTS_MAX = 1_000;
/** Namespaces whose names are kept once for all objects. */
export const SHARED_TEXTS_MAX = 10_000;

/** Warnings about references that cannot be right: each once, and no more than this in a row. */
export const REPORTED_MAX = 1_000;
export const REPORTS_BURST = 25;
export const REPORT_REFILL_MS = 10_000;
/** Events for objects without a namespace live here. */
export const CLUSTER_EVENTS_NAMESPACE = "default";

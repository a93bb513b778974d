/**
 * Limits of the watch cache: how much history it keeps, and how long reads wait for it. A partition of the cache is one
 * resource, or the resources of one API group.
 */

/** Maximum number of events in the history of a partition, kept for watchers that start in the past or fall behind. */
export const HISTORY_EVENTS_MAX = 20_000;
/** Maximum total size of the events in the history of a partition. */
export const HISTORY_BYTES_MAX = 64 * 1024 * 1024;
/**
 * Younger events are dropped only beyond the limits above; older events are dropped down to the minimum number below.
 */
export const HISTORY_AGE_MS = 5 * 60_000;
/** Number of events that are kept regardless of their age, so that watches of an idle resource can resume. */
export const HISTORY_EVENTS_MIN = 100;
/** How long a consistent read waits for the watch to catch up before it reads from the store itself. */
export const CATCH_UP_MS = 250;
/** How long a request waits for a resource version that does not exist yet. */
export const FUTURE_VERSION_WAIT_MS = 3_000;
/**
 * How long after a change of the store's history revisions of the earlier history are rejected. Compaction removes a
 * revision sooner than this.
 */
export const HISTORY_OVERLAP_MS = 15 * 60_000;
/** Clocks of servers may differ, and servers detect a change of the history within this time of each other. */
export const HISTORY_CHANGE_MARGIN_MS = 5_000;
/**
 * How long the response to a write waits for the watch to deliver the change. etcd delivers it within about 0.2 ms of
 * its response, so a longer wait means that the watch has stalled.
 */
export const DELIVERY_WAIT_MS = 50;
/**
 * Number of watchers that receive a change before the response to its write; other watchers receive it in later turns of
 * the event loop, this many in each.
 */
export const DELIVERIES_AT_ONCE = 500;
/** As `DELIVERIES_AT_ONCE`, but also counts watchers whose selectors skip the change, which costs much less. */
export const VISITS_AT_ONCE = 5_000;

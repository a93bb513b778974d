import type { Kv } from "./kv.ts";

/**
 * Returns a store with some methods replaced. It delegates explicitly, because an object spread would lose the methods
 * of stores that are class instances.
 */
export function overlaidKv(kv: Kv, methods: Partial<Kv>): Kv {
  return {
    range: (request) => kv.range(request),
    commit: (change) => kv.commit(change),
    watch: (request, sink) => kv.watch(request, sink),
    onHistoryChange: (listener) => kv.onHistoryChange(listener),
    currentRevision: () => kv.currentRevision(),
    ...(kv.revisionNow !== undefined && { revisionNow: () => kv.revisionNow?.() }),
    ...(kv.isOutdated !== undefined && { isOutdated: (key, sealing) => kv.isOutdated?.(key, sealing) === true }),
    compact: (revision) => kv.compact(revision),
    leaseGrant: (ttlSeconds) => kv.leaseGrant(ttlSeconds),
    leaseKeepAlive: (lease) => kv.leaseKeepAlive(lease),
    leaseRevoke: (lease) => kv.leaseRevoke(lease),
    close: () => kv.close(),
    ...methods,
  };
}

import type { Kv } from "./kv.ts";

/** A store with some methods replaced. Object spread would lose the methods of stores that are class instances. */
export function overlaidKv(kv: Kv, methods: Partial<Kv>): Kv {
  return {
    range: (request) => kv.range(request),
    commit: (change) => kv.commit(change),
    watch: (request, sink) => kv.watch(request, sink),
    currentRevision: () => kv.currentRevision(),
    compact: (revision) => kv.compact(revision),
    leaseGrant: (ttlSeconds) => kv.leaseGrant(ttlSeconds),
    leaseKeepAlive: (lease) => kv.leaseKeepAlive(lease),
    leaseRevoke: (lease) => kv.leaseRevoke(lease),
    close: () => kv.close(),
    ...methods,
  };
}

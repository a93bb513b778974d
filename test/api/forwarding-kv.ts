/** A store as it is, but for what a test does otherwise. */
import type { Kv } from "../../src/storage/kv.ts";

export function forwardingKv(kv: Kv, otherwise: Partial<Kv>): Kv {
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
    ...otherwise,
  };
}

/**
 * Grants leases for objects with a TTL, such as Events. Objects written close together share one lease, because with
 * one lease per object the store would spend most of its time on leases.
 */
import type { Clock } from "../base/clock.ts";
import type { StoreEpoch } from "../base/store-epoch.ts";
import { StorageError, type Kv, type LeaseId } from "./kv.ts";

export interface LeasePool {
  /** Returns a lease that lasts at least `ttlSeconds` from now. */
  leaseFor(ttlSeconds: number): Promise<LeaseId>;
}

/** A lease is reused for this fraction of its TTL, but for at most a minute. */
const REUSE_FRACTION = 0.05;
const REUSE_MS_MAX = 60_000;
const OBJECTS_PER_LEASE_MAX = 1_000;

export function createLeasePool(kv: Kv, clock: Clock, epoch?: StoreEpoch): LeasePool {
  const open = new Map<number, { lease: Promise<LeaseId>; until: number; objects: number }>();
  // A store that was restored from a backup may not have the leases.
  epoch?.onChange(() => open.clear());
  return {
    async leaseFor(ttlSeconds) {
      if (!(ttlSeconds > 0)) throw new StorageError("unavailable", "a lease needs a positive TTL");
      const current = open.get(ttlSeconds);
      if (current !== undefined && current.until > clock.monotonic() && current.objects < OBJECTS_PER_LEASE_MAX) {
        current.objects++;
        return current.lease;
      }
      const reuseMs = Math.min(REUSE_MS_MAX, ttlSeconds * 1000 * REUSE_FRACTION);
      const lease = kv.leaseGrant(Math.ceil(ttlSeconds + reuseMs / 1000));
      open.set(ttlSeconds, { lease, until: clock.monotonic() + reuseMs, objects: 1 });
      lease.catch(() => {
        if (open.get(ttlSeconds)?.lease === lease) open.delete(ttlSeconds);
      });
      return lease;
    },
  };
}

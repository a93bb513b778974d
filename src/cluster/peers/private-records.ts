/**
 * Store access of a server: writes its endpoint record, which no API user can change, and rejects other writes while
 * the fence has lapsed.
 */
import type { Fence } from "./fence.ts";
import type { LeasedRecordStore } from "./leased-record.ts";
import { IDENTITY_LEASE_NAMESPACE } from "./identity-lease.ts";
import { StorageError, type Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { overlaidKv } from "../../storage/overlaid-kv.ts";

export function identityLeaseKey(storageRoot: string, id: string): string {
  return `${storageRoot}leases/${IDENTITY_LEASE_NAMESPACE}/${id}`;
}

/**
 * Maximum number of attempts to write a record. An attempt conflicts only if another write of the record has just
 * succeeded.
 */
const PUT_ATTEMPTS_MAX = 5;

export function leasedRecordStore(kv: Kv, cache: WatchCache): LeasedRecordStore {
  return {
    grantLease: (ttlSeconds) => kv.leaseGrant(ttlSeconds),
    async keepAlive(lease) {
      try {
        await kv.leaseKeepAlive(lease);
        return "alive";
      } catch (thrown) {
        if (thrown instanceof StorageError && thrown.code === "lease-not-found") return "gone";
        throw thrown;
      }
    },
    async put({ key, value, lease }, signal) {
      const bytes = Buffer.from(JSON.stringify(value));
      let expectedRevision = cache.get(key)?.modRevision ?? 0;
      for (let attempt = 0; attempt < PUT_ATTEMPTS_MAX; attempt++) {
        signal.throwIfAborted();
        const result = await kv.commit({ kind: "put", key, value: bytes, expectedRevision, lease });
        if (result.committed) return;
        expectedRevision = result.current?.modRevision ?? 0;
      }
      throw new Error(`the record ${key} changes faster than this server can write it`);
    },
    revoke: (lease) => kv.leaseRevoke(lease),
    onHistoryChange: (listener) => void cache.epoch.onChange(listener),
  };
}

/**
 * A store that checks the fence again when a write is sent to it: a write that passed the fence before this process was
 * paused must not be performed after the pause. Only the server's own lease is exempt, because renewing it opens the
 * fence.
 */
export function fencedKv(kv: Kv, fence: Pick<Fence, "hasLapsed">, ownLeaseKey: string): Kv {
  return overlaidKv(kv, {
    commit(change) {
      if (fence.hasLapsed && change.key !== ownLeaseKey)
        return Promise.reject(
          new StorageError("unavailable", "this server must renew its identity lease before it can write"),
        );
      return kv.commit(change);
    },
  });
}

/** Records that only servers write, straight in the store: out of reach of every user of the API. */
import type { Fence } from "./fence.ts";
import type { EndpointStore } from "./endpoint-registry.ts";
import { IDENTITY_LEASE_NAMESPACE } from "./identity-lease.ts";
import { StorageError, type Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { overlaidKv } from "../../storage/overlaid-kv.ts";

export function identityLeaseKey(storageRoot: string, id: string): string {
  return `${storageRoot}leases/${IDENTITY_LEASE_NAMESPACE}/${id}`;
}

/** Each attempt loses only to a write that has just happened. */
const PUT_ATTEMPTS_MAX = 5;

export function endpointStore(kv: Kv, cache: WatchCache): EndpointStore {
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
      throw new Error(`the record ${key} changes faster than it can be written`);
    },
    revoke: (lease) => kv.leaseRevoke(lease),
  };
}

/**
 * A write that was let in before this process stood still must not be done after it: the last look at the fence is
 * where the write leaves. The server's own lease is how it opens again; those of others are not.
 */
export function fencedKv(kv: Kv, fence: Pick<Fence, "hasLapsed">, ownLeaseKey: string): Kv {
  return overlaidKv(kv, {
    commit(change) {
      if (fence.hasLapsed && change.key !== ownLeaseKey)
        return Promise.reject(
          new StorageError("unavailable", "this server must not write before its lease is renewed"),
        );
      return kv.commit(change);
    },
  });
}

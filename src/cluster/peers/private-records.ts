/**
 * Store access of a server: writes its endpoint record, which no API user can change, and rejects other writes while
 * the fence has lapsed, and deletes after the record has expired.
 */
import { endpointKey } from "./endpoint-record.ts";
import type { Fence } from "./fence.ts";
import type { MemberConfig } from "./peer-config.ts";
import type { LeasedRecordStore } from "./leased-record.ts";
import { IDENTITY_LEASE_NAMESPACE } from "./identity-lease.ts";
import { StorageError, type Change, type CommitResult, type KeyValue, type Kv } from "../../storage/kv.ts";
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

interface FencedKvOptions {
  readonly fence: Pick<Fence, "hasLapsed">;
  readonly ownLeaseKey: string;
  /** The endpoint record of this server as far as the server knows. Absent if it has none. */
  readonly ownRecord?: { readonly key: string; readonly known: () => StoredRecord | undefined };
}

type StoredRecord = Pick<KeyValue, "createRevision" | "modRevision">;

/**
 * A store that checks the fence again when a write is sent to it: a write that passed the fence before this process was
 * paused must not be performed after the pause. Only the server's own lease is exempt, because renewing it opens the
 * fence.
 *
 * The fence depends on a clock, which may stand still while a hypervisor has stopped the machine. Deletes are therefore
 * also guarded by the endpoint record of this server, which the store removes by its own clock.
 */
export function fencedKv(kv: Kv, { fence, ownLeaseKey, ownRecord }: FencedKvOptions): Kv {
  const remove = ownRecord === undefined ? (change: Deletion) => kv.commit(change) : guardedBy(kv, ownRecord);
  return overlaidKv(kv, {
    commit(change) {
      if (change.key === ownLeaseKey) return kv.commit(change);
      if (fence.hasLapsed)
        return Promise.reject(
          new StorageError("unavailable", "this server must renew its identity lease before it can write"),
        );
      return change.kind === "delete" ? remove(change) : kv.commit(change);
    },
  });
}

/** The store through which a server writes. */
export function serverKv(
  { kv, cache }: { readonly kv: Kv; readonly cache: WatchCache },
  { storageRoot, peers: { serverId } }: Pick<MemberConfig, "storageRoot" | "peers">,
  fence: Fence,
): Kv {
  const key = endpointKey(storageRoot, serverId);
  return fencedKv(kv, {
    fence,
    ownLeaseKey: identityLeaseKey(storageRoot, serverId),
    ownRecord: { key, known: () => cache.get(key) },
  });
}

type Deletion = Change & { readonly kind: "delete" };

/** Deletes only while the store has the record, from the time at which this server has first seen its record. */
function guardedBy(
  kv: Kv,
  { key, known }: NonNullable<FencedKvOptions["ownRecord"]>,
): (change: Deletion) => Promise<CommitResult> {
  const expired = new StorageError(
    "unavailable",
    "the endpoint record of this server has expired: this server must write it again before it can delete",
  );
  let hasBeenSeen = false;
  const attempt = (change: Deletion, { modRevision: revision }: StoredRecord): Promise<CommitResult> =>
    kv.commit({ ...change, guards: [...(change.guards ?? []), { key, revision }] });
  return async (change) => {
    const record = known();
    hasBeenSeen ||= record !== undefined;
    if (!hasBeenSeen) return kv.commit(change);
    if (record === undefined) throw expired;
    const result = await attempt(change, record);
    if (result.committed || result.lostGuard !== key) return result;
    const [newest] = (await kv.range({ start: key })).items;
    // A record that was only changed, for example because this server drains, has never expired.
    if (newest?.createRevision !== record.createRevision) throw expired;
    const second = await attempt(change, newest);
    if (!second.committed && second.lostGuard === key) throw expired;
    return second;
  };
}

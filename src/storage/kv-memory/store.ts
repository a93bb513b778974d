/**
 * The state of a memory store since the last compaction: the values of every key by revision, and the log of changes.
 * Every call takes effect synchronously, so a seed of the simulator always produces the same history.
 *
 * As in etcd, an empty store has revision 1, so that no client ever receives revision 0, which has a special meaning in
 * Kubernetes.
 */
import { assert } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import {
  GUARDS_MAX,
  type Change,
  type CommitResult,
  type Guard,
  type KeyValue,
  type KvEvent,
  type LeaseId,
  type RangeRequest,
  type RangeResult,
} from "../kv.ts";
import {
  compactedError,
  futureError,
  historyChangedError,
  leaseError,
  tooLargeError,
  VALUE_BYTES_MAX,
} from "../kv-errors.ts";
import { HistoryListeners } from "../history-listeners.ts";
import { LeaseTimers } from "./lease-timers.ts";
import { SortedKeys } from "./sorted-keys.ts";
import type { ChangeLog, Watcher } from "./watcher.ts";

/** One state of a key; `value` is undefined if the key was deleted. */
interface Version {
  readonly revision: number;
  readonly createRevision: number;
  readonly value: Buffer | undefined;
  readonly lease: LeaseId | undefined;
}

/** The content of a store at one revision, with its history since the last compaction. */
export interface StoreBackup {
  readonly versions: ReadonlyMap<string, readonly Version[]>;
  readonly log: readonly KvEvent[];
  readonly logStart: number;
  readonly revision: number;
  readonly compactRevision: number;
  /** The leases that have keys, with their TTL. */
  readonly leases: readonly { readonly lease: LeaseId; readonly ttlSeconds: number }[];
}

export class StoreState implements ChangeLog {
  readonly historyListeners = new HistoryListeners();
  #keys = new SortedKeys();
  readonly #versions = new Map<string, Version[]>();
  readonly #watchers = new Set<Watcher>();
  readonly #leaseKeys = new Map<LeaseId, Set<string>>();
  readonly #leaseTimers: LeaseTimers;
  /** One change per revision: `#log[i]` has the revision `#logStart + i`. */
  #log: KvEvent[] = [];
  #logStart = 2;
  #revision = 1;
  #compactRevision = 0;
  #leasesGranted = 0;

  constructor(clock: Clock) {
    this.#leaseTimers = new LeaseTimers({ clock, expire: (lease) => this.#endLease(lease) });
  }

  get revision(): number {
    return this.#revision;
  }

  get compactRevision(): number {
    return this.#compactRevision;
  }

  since(revision: number): readonly KvEvent[] {
    return this.#log.slice(Math.max(0, revision - this.#logStart));
  }

  range(request: RangeRequest): RangeResult {
    const revision = request.revision ?? this.#revision;
    if (revision > this.#revision) throw futureError(revision, this.#revision);
    if (revision < this.#compactRevision) throw compactedError(revision, this.#compactRevision);
    const limit = request.countOnly === true ? 0 : (request.limit ?? Number.POSITIVE_INFINITY);
    const items: KeyValue[] = [];
    let count = 0;
    const keys = request.end === undefined ? [request.start] : this.#keys.range(request.start, request.end);
    for (const key of keys) {
      const found = this.#liveAt(key, revision);
      if (found === undefined) continue;
      count++;
      if (items.length < limit) items.push(found);
    }
    return { items, count, revision: this.#revision };
  }

  commit(change: Change): CommitResult {
    if (change.kind === "put" && change.value.length > VALUE_BYTES_MAX)
      throw tooLargeError(change.key, change.value.length);
    const current = this.#liveAt(change.key, this.#revision);
    const isExpected = (current?.modRevision ?? 0) === change.expectedRevision;
    const lostGuard = this.#lostAmong(change.guards);
    if (!isExpected || lostGuard !== undefined || (change.kind === "delete" && current === undefined)) {
      return { committed: false, current, revision: this.#revision, lostGuard };
    }
    if (change.kind === "delete") {
      this.#delete(change.key);
    } else {
      if (change.lease !== undefined && !this.#leaseTimers.has(change.lease)) throw leaseError(change.lease);
      this.#put(change, current?.createRevision ?? this.#revision + 1);
    }
    const revision = this.#revision;
    this.#deliver();
    return { committed: true, revision };
  }

  follow(watcher: Watcher): void {
    this.#watchers.add(watcher);
    queueMicrotask(() => watcher.deliver());
  }

  unfollow(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  compact(revision: number): void {
    if (revision > this.#revision) throw futureError(revision, this.#revision);
    if (revision <= this.#compactRevision) return;
    const through = Math.max(0, revision - this.#logStart + 1);
    for (const { key } of this.#log.slice(0, through)) this.#forgetBefore(key, revision);
    // Keeps the change at the compacted revision itself, because a watch may still start there.
    this.#log = this.#log.slice(Math.max(0, through - 1));
    this.#logStart = Math.max(this.#logStart, revision);
    this.#compactRevision = revision;
  }

  leaseGrant(ttlSeconds: number): LeaseId {
    assert(ttlSeconds > 0, "a lease has a positive TTL");
    const lease = String(++this.#leasesGranted);
    this.#leaseTimers.start(lease, ttlSeconds);
    return lease;
  }

  leaseKeepAlive(lease: LeaseId): void {
    if (!this.#leaseTimers.keepAlive(lease)) throw leaseError(lease);
  }

  leaseRevoke(lease: LeaseId): void {
    if (this.#leaseTimers.stop(lease)) this.#endLease(lease);
  }

  backUp(): StoreBackup {
    return {
      versions: new Map([...this.#versions].map(([key, versions]) => [key, [...versions]])),
      log: [...this.#log],
      logStart: this.#logStart,
      revision: this.#revision,
      compactRevision: this.#compactRevision,
      leases: this.#leaseTimers.running(),
    };
  }

  /** As in etcd, the leases of the backup begin with their whole TTL. */
  restore(backup: StoreBackup): void {
    this.#leaseTimers.stopAll();
    this.#leaseKeys.clear();
    this.#versions.clear();
    this.#keys = new SortedKeys();
    for (const [key, versions] of backup.versions) {
      this.#versions.set(key, [...versions]);
      this.#keys.add(key);
      const lease = versions.at(-1)?.lease;
      if (lease !== undefined) this.#attach(lease, key);
    }
    const before = this.#revision;
    this.#log = [...backup.log];
    this.#logStart = backup.logStart;
    this.#revision = backup.revision;
    this.#compactRevision = backup.compactRevision;
    for (const { lease, ttlSeconds } of backup.leases) this.#leaseTimers.start(lease, ttlSeconds);
    const evidence = `the store is at revision ${this.#revision}, and was at ${before} before`;
    const ended = [...this.#watchers];
    this.historyListeners.call(evidence);
    for (const watcher of ended) watcher.end(historyChangedError(evidence));
  }

  stopTimers(): void {
    this.#leaseTimers.stopAll();
  }

  #liveAt(key: string, revision: number): KeyValue | undefined {
    const versions = this.#versions.get(key);
    if (versions === undefined) return undefined;
    const version = versions[newestAt(versions, revision)];
    if (version?.value === undefined) return undefined;
    return { key, value: version.value, createRevision: version.createRevision, modRevision: version.revision };
  }

  #lostAmong(guards: readonly Guard[] | undefined): string | undefined {
    if (guards === undefined) return undefined;
    assert(guards.length <= GUARDS_MAX, "a change has at most GUARDS_MAX guards");
    return guards.find((guard) => !this.#holds(guard))?.key;
  }

  #holds(guard: Guard): boolean {
    const newest = this.#versions.get(guard.key)?.at(-1);
    return (newest?.value === undefined ? 0 : newest.revision) === guard.revision;
  }

  #put(change: { key: string; value: Buffer; lease?: LeaseId }, createRevision: number): void {
    const { key, value, lease } = change;
    this.#detach(key);
    if (lease !== undefined) this.#attach(lease, key);
    const modRevision = ++this.#revision;
    this.#append(key, { revision: modRevision, createRevision, value, lease });
    this.#log.push({ kind: "put", key, value, createRevision, modRevision });
  }

  #attach(lease: LeaseId, key: string): void {
    const attached = this.#leaseKeys.get(lease);
    if (attached === undefined) this.#leaseKeys.set(lease, new Set([key]));
    else attached.add(key);
  }

  #delete(key: string): void {
    this.#detach(key);
    const modRevision = ++this.#revision;
    this.#append(key, { revision: modRevision, createRevision: 0, value: undefined, lease: undefined });
    this.#log.push({ kind: "delete", key, modRevision });
  }

  #append(key: string, version: Version): void {
    const versions = this.#versions.get(key);
    if (versions !== undefined) {
      versions.push(version);
      return;
    }
    this.#versions.set(key, [version]);
    this.#keys.add(key);
  }

  #detach(key: string): void {
    const lease = this.#versions.get(key)?.at(-1)?.lease;
    if (lease !== undefined) this.#leaseKeys.get(lease)?.delete(key);
  }

  #endLease(lease: LeaseId): void {
    const keys = [...(this.#leaseKeys.get(lease) ?? [])].sort();
    this.#leaseKeys.delete(lease);
    for (const key of keys) this.#delete(key);
    if (keys.length > 0) this.#deliver();
  }

  #deliver(): void {
    for (const watcher of this.#watchers) watcher.deliver();
  }

  /** Keeps the states of the key at or above the revision, and the value that was current at the revision. */
  #forgetBefore(key: string, revision: number): void {
    const versions = this.#versions.get(key);
    if (versions === undefined) return;
    const index = newestAt(versions, revision);
    const newest = versions[index];
    if (newest === undefined) return;
    const isForgotten = newest.value === undefined && newest.revision < revision;
    versions.splice(0, isForgotten ? index + 1 : index);
    if (versions.length > 0) return;
    this.#versions.delete(key);
    this.#keys.delete(key);
  }
}

/**
 * Index of the newest state at or before the revision, or -1. Searches from the end, because most reads are of recent
 * revisions.
 */
function newestAt(versions: readonly Version[], revision: number): number {
  let index = versions.length - 1;
  while (index >= 0 && versions[index]!.revision > revision) index--;
  return index;
}

/**
 * The storage port: a revisioned key-value store with etcd's model, in nine methods.
 *
 * Guarantees of every implementation (tested by test/testing/storage/conformance/):
 * - There is one revision counter. Every successful commit takes the next revision; a commit that changes nothing
 *   because its conditions failed takes none. Revisions never go back, not even across restarts.
 * - A resolved commit is as durable as the implementation can make it.
 * - Watches receive every change at or after their start revision exactly once, in revision order, with all changes of
 *   one revision in one batch.
 * - Values are opaque bytes. Neither side modifies a buffer after it was passed in or returned.
 * - Failures are `StorageError`s; any other thrown value is a bug.
 */
export interface Kv {
  /** Keys of [start, end) in byte order as of a revision. */
  range(request: RangeRequest): Promise<RangeResult>;

  /**
   * Applies one change if the key's modRevision is the expected one (0 = key absent). A lost race is a result, not an
   * error: `current` is the key's state at the time of the attempt. All guards of a put are checked atomically with the
   * write: no client can change a guard's key in between.
   */
  commit(change: Change): Promise<CommitResult>;

  /**
   * Watches all keys with a prefix from a revision (inclusive) until closed. Delivery is a synchronous call of the
   * sink; batches arrive in order. `sink.closed` is called at most once, and not after `close()`. The store reconnects
   * by itself after an outage, which is visible only through `sink.interrupted`; only a compacted start revision or a
   * closed store ends a watch.
   */
  watch(request: WatchRequest, sink: WatchSink): Watching;

  /** The newest revision, linearizable: not older than any commit that any client saw acknowledged before the call. */
  currentRevision(): Promise<number>;

  /** Discards history below the revision: older ranges and watches fail with `revision-compacted`. */
  compact(revision: number): Promise<void>;

  /** Grants a lease. Its keys are deleted (as an ordinary change) when it expires without `leaseKeepAlive`. */
  leaseGrant(ttlSeconds: number): Promise<LeaseId>;
  /** Restarts the lease's TTL. Fails with `lease-not-found` once it has expired. */
  leaseKeepAlive(lease: LeaseId): Promise<void>;
  /** Ends the lease now and deletes its keys. Unknown leases are ignored. */
  leaseRevoke(lease: LeaseId): Promise<void>;

  /** Completes the accepted calls, then releases all resources. Later calls fail with `unavailable`. */
  close(): Promise<void>;
}

export type LeaseId = string;

export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
}

export interface RangeRequest {
  readonly start: string;
  /** Exclusive end; undefined = only the key `start`. */
  readonly end?: string;
  /** Absent: newest, linearizable. A revision that does not exist yet fails with `revision-future`. */
  readonly revision?: number;
  /** At most this many keys; absent = all. */
  readonly limit?: number;
  /** Return no items, only `count` and `revision`. */
  readonly countOnly?: boolean;
}

export interface RangeResult {
  readonly items: readonly KeyValue[];
  /** Revision of the store when the range was read (not the requested one). */
  readonly revision: number;
  /** Number of keys in [start, end) at the requested revision, regardless of `limit`. */
  readonly count: number;
}

export type Change =
  | {
      readonly kind: "put";
      readonly key: string;
      readonly value: Buffer;
      readonly expectedRevision: number;
      readonly lease?: LeaseId;
      /** At most `GUARDS_MAX`, each on a different key. */
      readonly guards?: readonly Guard[];
    }
  | { readonly kind: "delete"; readonly key: string; readonly expectedRevision: number };

/** Writers need few guards, and each costs every store a lookup. */
export const GUARDS_MAX = 4;

/** A condition of a put on another key: that key's modRevision must be exactly this one (0 = key absent). */
export interface Guard {
  readonly key: string;
  readonly revision: number;
}

export type CommitResult =
  | { readonly committed: true; readonly revision: number }
  | {
      readonly committed: false;
      readonly current: KeyValue | undefined;
      readonly revision: number;
      /** The key of the first guard that did not hold, regardless of the put's own key. */
      readonly lostGuard: string | undefined;
    };

export interface WatchRequest {
  readonly prefix: string;
  readonly fromRevision: number;
}

export type KvEvent =
  | {
      readonly kind: "put";
      readonly key: string;
      readonly value: Buffer;
      readonly createRevision: number;
      readonly modRevision: number;
    }
  | { readonly kind: "delete"; readonly key: string; readonly modRevision: number };

export interface WatchSink {
  /** Changes in revision order; all changes of one revision are in one batch. */
  events(batch: readonly KvEvent[]): void;
  /** Everything up to and including this revision has been delivered. This is a hint; a store need not send it. */
  progress(revision: number): void;
  /** The store is unreachable (true), or reachable with the watch resumed (false). No event is lost in between. */
  interrupted(isInterrupted: boolean): void;
  /** The watch has ended: history was compacted, or the store was closed. */
  closed(error: StorageError): void;
}

export interface Watching {
  close(): void;
}

export type StorageErrorCode =
  | "revision-compacted"
  | "revision-future"
  | "lease-not-found"
  /** The call had no effect: the store could not be reached in time. */
  | "unavailable"
  /** The call may or may not have had an effect: it was sent, and no response arrived. */
  | "undecided"
  /** The store rejects the call because too many calls are queued. */
  | "overloaded"
  | "too-large"
  | "corrupt";

export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly code: StorageErrorCode;
  /** For `revision-compacted`: the oldest revision still readable; for `revision-future`: the newest. */
  readonly revision: number | undefined;

  constructor(code: StorageErrorCode, message: string, options: { revision?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.revision = options.revision;
  }
}

/** The exclusive end of the range of all keys that start with the prefix. */
export function prefixEnd(prefix: string): string {
  // Keys are ASCII paths; the last byte of a prefix is never 0xff.
  const last = prefix.charCodeAt(prefix.length - 1);
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}

/** The first key that can follow: the key with a zero byte. */
export function keyAfter(key: string): string {
  return `${key}\0`;
}

/**
 * The storage port: a revisioned key-value store with etcd's model, at most nine methods.
 *
 * Guarantees every implementation gives (test/testing/storage/conformance/ holds them to it):
 * - There is one revision counter. Every successful commit takes the next revision; a commit that
 *   changes nothing (its conditions failed) takes none. Revisions never go back, also across restarts.
 * - A resolved commit is durable as far as the implementation can be durable at all.
 * - Watchers see every change at or after their start revision exactly once, in revision order,
 *   changes of one revision together.
 * - Values are opaque bytes. A buffer handed in or out is never modified afterwards by either side.
 * - Failures are `StorageError`s; whatever else is thrown is a bug.
 */
export interface Kv {
  /** Keys of [start, end) in byte order as of a revision. */
  range(request: RangeRequest): Promise<RangeResult>;

  /**
   * Applies one change if the key's modRevision is what the caller saw (0 = key absent).
   * A lost race is a value, not an error: `current` is the key's state at the time of the attempt.
   * All guards of a put must hold at that same moment, as part of the same decision: no change of a guard's
   * key, whoever makes it, comes between the look at it and the write.
   */
  commit(change: Change): Promise<CommitResult>;

  /**
   * Follows all keys with a prefix from a revision (inclusive) until closed. Delivery is a synchronous
   * call into the sink; batches arrive in order. `sink.closed` is called at most once, and not after
   * `close()`. Reconnecting after an outage is the store's own work and invisible here, except through
   * `sink.interrupted`; only a compacted start revision or a closed store ends a watch.
   */
  watch(request: WatchRequest, sink: WatchSink): Watching;

  /** The newest revision, linearizable: never older than any commit acknowledged anywhere before the call. */
  currentRevision(): Promise<number>;

  /** Forgets history below the revision: older ranges and watches fail with `revision-compacted`. */
  compact(revision: number): Promise<void>;

  /** A lease whose keys are deleted (as an ordinary change) when it expires without `leaseKeepAlive`. */
  leaseGrant(ttlSeconds: number): Promise<LeaseId>;
  /** Starts the lease's time anew. Fails with `lease-not-found` once it has expired. */
  leaseKeepAlive(lease: LeaseId): Promise<void>;
  /** Ends the lease now, deleting its keys. Unknown leases are fine. */
  leaseRevoke(lease: LeaseId): Promise<void>;

  /** Finishes what was accepted, then releases everything. Later calls fail with `unavailable`. */
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
  /** Exclusive end; undefined = just the key `start`. */
  readonly end?: string;
  /** Absent: newest, linearizable. A revision that does not exist yet fails with `revision-future`. */
  readonly revision?: number;
  /** At most this many keys; absent = all. */
  readonly limit?: number;
  /** Leave the values out (`items` empty): only `count` and `revision` are wanted. */
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
      /** At most `GUARDS_MAX`, each on a key of its own. */
      readonly guards?: readonly Guard[];
    }
  | { readonly kind: "delete"; readonly key: string; readonly expectedRevision: number };

/** Whoever writes needs few; each costs every store a look at its key. */
export const GUARDS_MAX = 4;

/** What a put depends on besides its own key: that this key's modRevision is exactly this one (0 = key absent). */
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
      /** The key of the first guard that did not hold, whether or not the put's own key was as expected. */
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
  /** Everything up to and including this revision has been delivered. Optional hints; may never come. */
  progress(revision: number): void;
  /** The store is out of reach (true) or back and following again (false). No event is lost in between. */
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
  /** Nothing happened: the store could not be reached in time. */
  | "unavailable"
  /** Whether it happened is not known: it was sent, and no answer came. */
  | "undecided"
  /** The store refuses work because too much of it is queued. */
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

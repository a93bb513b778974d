/**
 * The storage port: a revisioned key-value store with etcd's data model, in ten methods.
 *
 * Guarantees of every implementation (tested by test/testing/storage/conformance/):
 * - There is one revision counter. Every successful commit takes the next revision; a commit whose conditions fail
 *   changes nothing and takes none. Revisions never go back, not even across restarts.
 * - A commit is as durable as the implementation can make it when its promise resolves.
 * - Watches receive every change at or after their start revision exactly once, in revision order, with all changes of
 *   one revision in one batch.
 * - Values are opaque bytes. Neither the caller nor the store modifies a buffer after it was passed in or returned.
 * - Failures are `StorageError`s; any other thrown value is a bug.
 *
 * The one exception to these guarantees is a store that an operator restores from an older backup while servers run. A
 * store that notices this calls the listeners of `onHistoryChange`, ends all its watches with `history-changed`, and from
 * then on serves the new history. Revisions that a client remembers from before then mean nothing, and a client must
 * forget them.
 */
export interface Kv {
  /** Reads the keys in [start, end) in byte order, at one revision. */
  range(request: RangeRequest): Promise<RangeResult>;

  /**
   * Applies one change if the key's modRevision is the expected one (0 = key absent). A lost race is a result, not an
   * error: `current` is then the key's state at the time of the attempt. All guards are checked atomically with the
   * change, so no client can change a guard's key between the check and the change.
   */
  commit(change: Change): Promise<CommitResult>;

  /**
   * Watches all keys with a prefix from a revision (inclusive) until the watch is closed. The store calls the sink
   * synchronously, with batches in order. `sink.closed` is called at most once, and not after `close()`. After an
   * outage the store reconnects by itself, and the sink sees the outage only through `sink.interrupted`. A watch ends
   * only if its start revision is compacted, if the history of the store has changed, or if the store or the sink fails
   * or the store is closed.
   */
  watch(request: WatchRequest, sink: WatchSink): Watching;

  /**
   * Adds a listener that is called synchronously with the evidence of each change of the history, before the watches end
   * and before any call returns something of the new history; also while no watch is open. The returned function removes
   * it.
   */
  onHistoryChange(listener: HistoryListener): () => void;

  /**
   * The newest revision, read linearizably: it is not older than any commit that was acknowledged to any client before
   * the call.
   */
  currentRevision(): Promise<number>;
  /**
   * As `currentRevision`, at once. Absent if the store must ask another process; undefined while it cannot tell, for
   * example because it is closed.
   */
  revisionNow?(): number | undefined;

  /**
   * Whether the value of a key must be written again even if it does not change, because it is not encrypted as the
   * configuration now says. Absent if the store encrypts nothing.
   */
  isOutdated?(key: string, sealing: Sealing | undefined): boolean;

  /**
   * Discards history below the revision. Ranges and watches at discarded revisions then fail with `revision-compacted`.
   */
  compact(revision: number): Promise<void>;

  /** Grants a lease. When the lease expires without `leaseKeepAlive`, its keys are deleted as by an ordinary change. */
  leaseGrant(ttlSeconds: number): Promise<LeaseId>;
  /** Restarts the TTL of the lease. Fails with `lease-not-found` if the lease has expired or was revoked. */
  leaseKeepAlive(lease: LeaseId): Promise<void>;
  /** Ends the lease now and deletes its keys. Ignores a lease that does not exist. */
  leaseRevoke(lease: LeaseId): Promise<void>;

  /** Completes the accepted calls, then releases all resources. Later calls fail with `unavailable`. */
  close(): Promise<void>;
}

export type LeaseId = string;

export type HistoryListener = (evidence: string) => void;

export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
  /** How the value is encrypted in the store. Absent if the store encrypts nothing. */
  readonly sealing?: Sealing;
  readonly createRevision: number;
  readonly modRevision: number;
}

/** How a stored value is encrypted. */
export interface Sealing {
  /** The provider and the key that have encrypted the value; "" for a value in clear, or if it cannot be decrypted. */
  readonly sealedBy: string;
  /** Why the value cannot be decrypted; undefined if it was decrypted. `value` is then the stored value. */
  readonly problem: string | undefined;
}

export interface RangeRequest {
  readonly start: string;
  /** Exclusive end; if it is undefined, the range is only the key `start`. */
  readonly end?: string;
  /**
   * If it is absent, the newest revision is read linearizably. A revision that does not exist yet fails with
   * `revision-future`.
   */
  readonly revision?: number;
  /** Maximum number of keys to return; if it is absent, all. */
  readonly limit?: number;
  /** If true, no items are returned, only `count` and `revision`. */
  readonly countOnly?: boolean;
}

export interface RangeResult {
  readonly items: readonly KeyValue[];
  /** The newest revision of the store when the range was read, not the requested revision. */
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
  | {
      readonly kind: "delete";
      readonly key: string;
      readonly expectedRevision: number;
      /** As for a put. */
      readonly guards?: readonly Guard[];
    };

/** Maximum number of guards of a change. Writers need few, and each one costs every store a lookup. */
export const GUARDS_MAX = 4;

/** A condition of a change on another key: the modRevision of that key must be exactly `revision` (0 = key absent). */
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
      /**
       * The key of the first guard that did not hold; undefined if all guards held and only the modRevision of the
       * written key differed.
       */
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
      /** As in `KeyValue`. */
      readonly sealing?: Sealing;
      readonly createRevision: number;
      readonly modRevision: number;
    }
  | { readonly kind: "delete"; readonly key: string; readonly modRevision: number };

export interface WatchSink {
  /** Delivers changes in revision order; all changes of one revision are in one batch. */
  events(batch: readonly KvEvent[]): void;
  /** Reports that everything up to and including this revision has been delivered. A store need not report progress. */
  progress(revision: number): void;
  /**
   * Reports that the store is unreachable (true), or that it is reachable and the watch has resumed (false). No event
   * is lost during the outage.
   */
  interrupted(isInterrupted: boolean): void;
  /**
   * Reports that the watch has ended: its start revision was compacted, the history of the store has changed, the store
   * was closed or failed, or the sink threw.
   */
  closed(error: StorageError): void;
}

export interface Watching {
  close(): void;
}

export type StorageErrorCode =
  | "revision-compacted"
  | "revision-future"
  /** Only watches end with it: the store was restored from a backup or replaced. The message names the evidence. */
  | "history-changed"
  | "lease-not-found"
  /** The store could not be reached in time, is closed or cannot be used. A commit had no effect. */
  | "unavailable"
  /** The call may or may not have had an effect: it was sent, and no response says which. */
  | "undecided"
  /** The store rejected the call, because too many calls are queued. */
  | "overloaded"
  | "too-large"
  /** The value cannot be encrypted, because its provider has no usable key. A commit had no effect. */
  | "no-encryption-key"
  | "corrupt";

export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly code: StorageErrorCode;
  /**
   * For `revision-compacted`: the oldest revision that can still be read, if the store reports it. For
   * `revision-future`: the newest revision.
   */
  readonly revision: number | undefined;

  constructor(code: StorageErrorCode, message: string, options: { revision?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.revision = options.revision;
  }
}

/** The exclusive end of the range of all keys that begin with the prefix. */
export function prefixEnd(prefix: string): string {
  // Keys are ASCII paths; the last byte of a prefix is never 0xff.
  const last = prefix.charCodeAt(prefix.length - 1);
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}

/** The key that directly follows this one in byte order: this key with a zero byte appended. */
export function keyAfter(key: string): string {
  return `${key}\0`;
}

/**
 * The storage port on one SQLite file, for the servers of one process. The database runs in a worker thread, so that an
 * fsync never stalls the event loop. This side queues writes into batches, delivers committed changes to watches, and
 * acknowledges the commits only afterwards, so that the watch cache contains a write when the writer receives its
 * response. This process is the only writer, so it knows the newest revision without a read.
 */
import { assert } from "../../base/assert.ts";
import type { Cancel, Clock } from "../../base/clock.ts";
import { AcceptedCalls } from "../accepted-calls.ts";
import { closedError, leaseError, tooLargeError, VALUE_BYTES_MAX } from "../kv-errors.ts";
import { LeaseTimers } from "../kv-memory/lease-timers.ts";
import {
  GUARDS_MAX,
  keyAfter,
  StorageError,
  type Change,
  type CommitResult,
  type Kv,
  type KvEvent,
  type LeaseId,
  type RangeRequest,
  type RangeResult,
  type WatchRequest,
  type WatchSink,
  type Watching,
} from "../kv.ts";
import { LEASE_RETRY_MS, PENDING_READS_MAX } from "./sqlite-limits.ts";
import { readRange, type PageRequest, type RangePage } from "../read-range.ts";
import type { WorkerRequest } from "./protocol.ts";
import { startStorageThread, WORKER_URL, type IdleStorageThread } from "./storage-thread.ts";
import { toKeyValue, unpackItems } from "./unpack.ts";
import { Watches } from "./watches.ts";
import { WorkerLink, type WorkerOutcome } from "./worker-link.ts";
import { WriteQueue, type AppliedWrite } from "./write-queue.ts";

export interface SqliteKvOptions {
  /** Holds `evenkeel.db` and its lock; created if it does not exist. */
  readonly directory: string;
  /**
   * Name of this process, such as "evenkeel serve". Another process that finds the directory locked reports this name
   * in its error.
   */
  readonly holder?: string;
  readonly clock: Clock;
  /** Maximum size of the database; writes beyond it fail with `unavailable`. Default: no limit but the disk. */
  readonly sizeBytesMax?: number;
  /** Location of the worker's code. Default: `WORKER_URL`. */
  readonly workerUrl?: URL;
  /** A thread that was started before, which the store uses unless another store has taken it. */
  readonly idleThread?: IdleStorageThread | undefined;
}

export async function openSqliteKv(options: SqliteKvOptions): Promise<Kv> {
  const worker = options.idleThread?.take() ?? startStorageThread(options.workerUrl ?? WORKER_URL);
  const { link, opened } = await WorkerLink.open(worker, {
    directory: options.directory,
    holder: options.holder,
    sizeBytesMax: options.sizeBytesMax,
  });
  const kv = new SqliteKv({ link, clock: options.clock, revision: opened.revision });
  for (const { lease, ttlSeconds } of opened.leases) kv.startLease(lease, ttlSeconds);
  return kv;
}

class SqliteKv implements Kv {
  readonly #link: WorkerLink;
  readonly #watches: Watches;
  readonly #writes: WriteQueue;
  readonly #clock: Clock;
  readonly #leaseTimers: LeaseTimers;
  /** Leases that have expired but whose keys could not be deleted yet, with the timer of the next attempt. */
  readonly #leaseRetries = new Map<LeaseId, Cancel>();
  readonly #calls = new AcceptedCalls();
  #closing: Promise<void> | undefined;

  constructor(options: { link: WorkerLink; clock: Clock; revision: number }) {
    this.#link = options.link;
    this.#clock = options.clock;
    this.#watches = new Watches(options.link, options.revision);
    this.#writes = new WriteQueue(options.link, (applied, revision) =>
      this.#watches.announce(toEvents(applied), revision),
    );
    this.#leaseTimers = new LeaseTimers({ clock: options.clock, expire: (lease) => this.#expireLease(lease) });
    this.#link.onFailure = (error) => {
      this.#stopTimers();
      this.#watches.endAll(error);
    };
  }

  range(request: RangeRequest): Promise<RangeResult> {
    return this.#calls.run(() => readRange(request, (page) => this.#rangePage(request, page)));
  }

  commit(change: Change): Promise<CommitResult> {
    return this.#calls.run(() => this.#commit(change));
  }

  watch(request: WatchRequest, sink: WatchSink): Watching {
    return this.#watches.start(request, sink);
  }

  /** Never calls the listener: if the file is replaced, the store fails instead. */
  onHistoryChange(): () => void {
    return () => {};
  }

  currentRevision(): Promise<number> {
    return this.#calls.run(async () => this.#watches.revision);
  }

  revisionNow(): number | undefined {
    return this.#calls.isClosed ? undefined : this.#watches.revision;
  }

  compact(revision: number): Promise<void> {
    return this.#calls.run(async () => {
      await this.#ask({ kind: "compact", revision });
    });
  }

  leaseGrant(ttlSeconds: number): Promise<LeaseId> {
    return this.#calls.run(async () => {
      assert(ttlSeconds > 0, "a lease has a positive TTL");
      const result = await this.#writes.add({ kind: "grant", ttlSeconds });
      assert(result.kind === "granted", "the worker returns a lease for a grant");
      if (!this.#calls.isClosed) this.startLease(result.lease, ttlSeconds);
      return result.lease;
    });
  }

  leaseKeepAlive(lease: LeaseId): Promise<void> {
    return this.#calls.run(async () => {
      if (!this.#leaseTimers.keepAlive(lease)) throw leaseError(lease);
    });
  }

  leaseRevoke(lease: LeaseId): Promise<void> {
    return this.#calls.run(async () => {
      if (!this.#leaseTimers.stop(lease)) return;
      try {
        await this.#writes.add({ kind: "revoke", lease });
      } catch (thrown) {
        this.#expireLater(lease);
        throw thrown;
      }
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  startLease(lease: LeaseId, ttlSeconds: number): void {
    this.#leaseTimers.start(lease, ttlSeconds);
  }

  async #close(): Promise<void> {
    this.#stopTimers();
    await this.#calls.close();
    this.#watches.endAll(closedError());
    // A failed close loses no acknowledged write, because the next start reads the write-ahead log.
    await this.#request({ kind: "close" }).catch(() => undefined);
    await this.#link.terminate();
  }

  async #commit(change: Change): Promise<CommitResult> {
    const result = await this.#writeChange(change);
    switch (result.kind) {
      case "committed":
        return { committed: true, revision: result.revision };
      case "conflict": {
        const current = result.current === undefined ? undefined : toKeyValue(result.current);
        return { committed: false, current, revision: result.revision, lostGuard: result.lostGuard };
      }
      case "lease-not-found":
        throw leaseError(change.kind === "put" ? (change.lease ?? "") : "");
      default:
        throw new StorageError("unavailable", "The storage thread returned an unexpected result.");
    }
  }

  #writeChange(change: Change): ReturnType<WriteQueue["add"]> {
    const { key, expectedRevision } = change;
    const guards = change.guards?.map((guard) => ({ key: guard.key, revision: guard.revision }));
    assert(guards === undefined || guards.length <= GUARDS_MAX, "a change has at most GUARDS_MAX guards");
    if (change.kind === "delete") return this.#writes.add({ kind: "delete", key, expectedRevision, guards });
    const { length } = change.value;
    if (length > VALUE_BYTES_MAX) throw tooLargeError(key, length);
    return this.#writes.add(
      { kind: "put", key, expectedRevision, offset: 0, length, lease: change.lease, guards },
      change.value,
    );
  }

  async #rangePage(request: RangeRequest, { start, revision, limit, isFirst }: PageRequest): Promise<RangePage> {
    const isLimited = limit !== Number.POSITIVE_INFINITY;
    // Counting costs as much as reading. A range without a limit is read to its end and counted while it is read, so
    // only a limited range needs the count.
    const isCounted = isFirst && isLimited;
    const outcome = await this.#ask({
      kind: "range",
      start,
      end: request.end ?? keyAfter(request.start),
      revision,
      limit: isLimited ? limit : Number.MAX_SAFE_INTEGER,
      isCounted,
    });
    assert(outcome.kind === "range", "the worker returns a page for a range");
    const { rows, count, nextStart } = outcome;
    return { items: unpackItems(rows), revision: outcome.revision, count: isCounted ? count : undefined, nextStart };
  }

  async #ask(request: WorkerRequest): Promise<Exclude<WorkerOutcome, StorageError>> {
    if (this.#link.pendingCount >= PENDING_READS_MAX) {
      throw new StorageError("overloaded", `${this.#link.pendingCount} reads are already waiting for the database.`);
    }
    return this.#request(request);
  }

  #request(request: WorkerRequest): Promise<Exclude<WorkerOutcome, StorageError>> {
    return new Promise((resolve, reject) => {
      this.#link.send(request, (outcome) => (outcome instanceof StorageError ? reject(outcome) : resolve(outcome)));
    });
  }

  #expireLease(lease: LeaseId): void {
    this.#calls.run(() => this.#writes.add({ kind: "revoke", lease })).catch(() => this.#expireLater(lease));
  }

  /** Retries to delete the keys of an expired lease until the disk accepts writes again. */
  #expireLater(lease: LeaseId): void {
    if (this.#calls.isClosed || this.#link.hasFailed) return;
    const cancel = this.#clock.after(LEASE_RETRY_MS, () => {
      this.#leaseRetries.delete(lease);
      this.#expireLease(lease);
    });
    this.#leaseRetries.set(lease, cancel);
  }

  #stopTimers(): void {
    this.#leaseTimers.stopAll();
    for (const cancel of this.#leaseRetries.values()) cancel();
    this.#leaseRetries.clear();
  }
}

function toEvents(applied: readonly AppliedWrite[]): KvEvent[] {
  return applied.flatMap(({ write, result }): KvEvent | KvEvent[] => {
    if (result.kind === "revoked") {
      return result.deleted.map(({ key, revision }) => ({ kind: "delete", key, modRevision: revision }));
    }
    if (result.kind !== "committed") return [];
    const { revision: modRevision, createRevision } = result;
    if (write.wire.kind === "put" && write.value !== undefined) {
      return { kind: "put", key: write.wire.key, value: write.value, createRevision, modRevision };
    }
    return write.wire.kind === "delete" ? { kind: "delete", key: write.wire.key, modRevision } : [];
  });
}

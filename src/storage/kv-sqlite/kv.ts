/**
 * The storage port on one SQLite file, for a single server. The database lives in a worker thread so
 * that an fsync never stalls the event loop; this side queues writes into batches, announces committed
 * changes to watches, and only then acknowledges them, so that a reader of a cache fed by a watch sees
 * its own writes. This process is the only writer, hence it knows the newest revision without asking.
 */
import { assert } from "../../base/assert.ts";
import type { Cancel, Clock } from "../../base/clock.ts";
import { closedError, leaseError } from "../kv-memory/errors.ts";
import { LeaseTimers } from "../kv-memory/lease-timers.ts";
import { GUARDS_MAX, StorageError } from "../kv.ts";
import type {
  Change,
  CommitResult,
  KeyValue,
  Kv,
  KvEvent,
  LeaseId,
  RangeRequest,
  RangeResult,
  WatchRequest,
  WatchSink,
  Watching,
} from "../kv.ts";
import { LEASE_RETRY_MS, PENDING_READS_MAX, RANGE_ATTEMPTS_MAX, VALUE_BYTES_MAX } from "./limits.ts";
import type { RangePage, Request } from "./protocol.ts";
import { toKeyValue, unpackItems } from "./unpack.ts";
import { Watches } from "./watches.ts";
import { WorkerLink } from "./worker-link.ts";
import type { Outcome } from "./worker-link.ts";
import { WriteQueue } from "./write-queue.ts";
import type { AppliedWrite } from "./write-queue.ts";

export interface SqliteKvOptions {
  /** Holds `evenkeel.db` and its lock; made when it is not there. */
  readonly directory: string;
  /** What a process that finds the directory locked is told beside the process ID, such as "evenkeel serve". */
  readonly holder?: string;
  readonly clock: Clock;
  /** The database grows no larger than this; writes beyond it fail with `unavailable`. Default: no bound but the disk. */
  readonly sizeBytesMax?: number;
  /** Where the worker's code is. Default: beside this file, from source as well as in a bundle. */
  readonly workerUrl?: URL;
}

export async function openSqliteKv(options: SqliteKvOptions): Promise<Kv> {
  const url = options.workerUrl ?? defaultWorkerUrl(import.meta.url);
  const { link, opened } = await WorkerLink.open(url, {
    directory: options.directory,
    holder: options.holder,
    sizeBytesMax: options.sizeBytesMax,
  });
  const kv = new SqliteKv({ link, clock: options.clock, revision: opened.revision });
  for (const { lease, ttlSeconds } of opened.leases) kv.startLease(lease, ttlSeconds);
  return kv;
}

function defaultWorkerUrl(moduleUrl: string): URL {
  return new URL(moduleUrl.endsWith(".ts") ? "./worker.ts" : "./kv-sqlite-worker.js", moduleUrl);
}

class SqliteKv implements Kv {
  readonly #link: WorkerLink;
  readonly #watches: Watches;
  readonly #writes: WriteQueue;
  readonly #clock: Clock;
  readonly #leaseTimers: LeaseTimers;
  /** Leases that have ended while their keys could not be deleted. */
  readonly #leaseRetries = new Map<LeaseId, Cancel>();
  /** Calls that were accepted and have not been answered; closing waits for them. */
  readonly #calls = new Set<Promise<unknown>>();
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
    return this.#accept(() => this.#rangeWhole(request));
  }

  commit(change: Change): Promise<CommitResult> {
    return this.#accept(() => this.#commit(change));
  }

  watch(request: WatchRequest, sink: WatchSink): Watching {
    return this.#watches.start(request, sink);
  }

  currentRevision(): Promise<number> {
    return this.#accept(async () => this.#watches.revision);
  }

  compact(revision: number): Promise<void> {
    return this.#accept(async () => {
      await this.#ask({ kind: "compact", revision });
    });
  }

  leaseGrant(ttlSeconds: number): Promise<LeaseId> {
    return this.#accept(async () => {
      assert(ttlSeconds > 0, "a lease lasts longer than no time");
      const result = await this.#writes.add({ kind: "grant", ttlSeconds });
      assert(result.kind === "granted", "the worker answers a grant with a lease");
      if (this.#closing === undefined) this.startLease(result.lease, ttlSeconds);
      return result.lease;
    });
  }

  leaseKeepAlive(lease: LeaseId): Promise<void> {
    return this.#accept(async () => {
      if (!this.#leaseTimers.keepAlive(lease)) throw leaseError(lease);
    });
  }

  leaseRevoke(lease: LeaseId): Promise<void> {
    return this.#accept(async () => {
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
    await Promise.allSettled(this.#calls);
    this.#watches.endAll(closedError());
    // Whatever fails here costs nothing that was acknowledged: the next start reads the write-ahead log.
    await this.#request({ kind: "close" }).catch(() => undefined);
    await this.#link.terminate();
  }

  #accept<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(closedError());
    const promise = call();
    this.#calls.add(promise);
    const forget = (): void => void this.#calls.delete(promise);
    promise.then(forget, forget);
    return promise;
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
        throw new StorageError("unavailable", "The storage thread gave a wrong answer.");
    }
  }

  #writeChange(change: Change): ReturnType<WriteQueue["add"]> {
    const { key, expectedRevision } = change;
    if (change.kind === "delete") return this.#writes.add({ kind: "delete", key, expectedRevision });
    const { length } = change.value;
    if (length > VALUE_BYTES_MAX) {
      throw new StorageError(
        "too-large",
        `The value of ${key} has ${length} bytes; at most ${VALUE_BYTES_MAX} can be stored.`,
      );
    }
    const guards = change.guards?.map((guard) => ({ key: guard.key, revision: guard.revision }));
    assert(guards === undefined || guards.length <= GUARDS_MAX, "a put has few guards");
    return this.#writes.add(
      { kind: "put", key, expectedRevision, offset: 0, length, lease: change.lease, guards },
      change.value,
    );
  }

  async #rangeWhole(request: RangeRequest): Promise<RangeResult> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#rangeOnce(request);
      } catch (thrown) {
        const wasOvertaken =
          thrown instanceof StorageError && thrown.code === "revision-compacted" && request.revision === undefined;
        if (!wasOvertaken || attempt === RANGE_ATTEMPTS_MAX) throw thrown;
      }
    }
  }

  async #rangeOnce(request: RangeRequest): Promise<RangeResult> {
    const limit = request.countOnly === true ? 0 : (request.limit ?? Number.MAX_SAFE_INTEGER);
    // The key followed by a zero byte is the next possible key.
    const end = request.end ?? `${request.start}\0`;
    const isCounted = limit !== Number.MAX_SAFE_INTEGER;
    const first = await this.#rangePage({
      kind: "range",
      start: request.start,
      end,
      revision: request.revision,
      limit,
      isCounted,
    });
    const items: KeyValue[] = unpackItems(first.rows);
    let { nextStart } = first;
    while (nextStart !== undefined && items.length < limit) {
      const page = await this.#rangePage({
        kind: "range",
        start: nextStart,
        end,
        revision: first.readRevision,
        limit: limit - items.length,
        isCounted: false,
      });
      for (const item of unpackItems(page.rows)) items.push(item);
      ({ nextStart } = page);
    }
    return { items, revision: first.revision, count: isCounted ? first.count : items.length };
  }

  async #rangePage(request: Request & { kind: "range" }): Promise<RangePage> {
    const outcome = await this.#ask(request);
    assert(outcome.kind === "range", "the worker answers a range with a page");
    return outcome;
  }

  async #ask(request: Request): Promise<Exclude<Outcome, StorageError>> {
    if (this.#link.pendingCount >= PENDING_READS_MAX) {
      throw new StorageError("overloaded", `${this.#link.pendingCount} reads are waiting for the database.`);
    }
    return this.#request(request);
  }

  #request(request: Request): Promise<Exclude<Outcome, StorageError>> {
    return new Promise((resolve, reject) => {
      this.#link.send(request, (outcome) => (outcome instanceof StorageError ? reject(outcome) : resolve(outcome)));
    });
  }

  #expireLease(lease: LeaseId): void {
    this.#accept(() => this.#writes.add({ kind: "revoke", lease })).catch(() => this.#expireLater(lease));
  }

  /** The lease has ended for everyone; only its keys wait until the disk takes writes again. */
  #expireLater(lease: LeaseId): void {
    if (this.#closing !== undefined || this.#link.hasFailed) return;
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

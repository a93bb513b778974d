/**
 * Group commit: the worker applies one batch at a time, and writes that arrive meanwhile wait here and form the next
 * batch, with one transaction and one fsync. A failure of the database fails the whole batch; a conflict fails only its
 * own write.
 */
import { must } from "../../base/assert.ts";
import { StorageError } from "../kv.ts";
import {
  BATCH_BYTES_MAX,
  BATCH_WRITES_MAX,
  OPEN_TURNS_MAX,
  QUEUED_BYTES_MAX,
  QUEUED_WRITES_MAX,
} from "./sqlite-limits.ts";
import type { WireWrite, WireWriteResult } from "./protocol.ts";
import type { WorkerOutcome, WorkerLink } from "./worker-link.ts";

/** The part of the connection to the worker that the queue uses. */
type Link = Pick<WorkerLink, "hasFailed" | "send">;

interface QueuedWrite {
  /** The `offset` of a put is set when its batch is packed. */
  readonly wire: WireWrite;
  readonly value: Buffer | undefined;
  readonly resolve: (result: WireWriteResult) => void;
  readonly reject: (error: StorageError) => void;
}

export interface AppliedWrite {
  readonly write: QueuedWrite;
  readonly result: WireWriteResult;
}

export class WriteQueue {
  readonly #link: Link;
  readonly #onApplied: (applied: readonly AppliedWrite[], revision: number) => void;
  readonly #queue: QueuedWrite[] = [];
  #queuedBytes = 0;
  #isBusy = false;
  #isScheduled = false;
  /** Number of writes in the last batch that was sent. */
  #lastBatchWrites = 0;

  /** `onApplied` is called after the COMMIT and before the writes are acknowledged. */
  constructor(link: Link, onApplied: (applied: readonly AppliedWrite[], revision: number) => void) {
    this.#link = link;
    this.#onApplied = onApplied;
  }

  /** Rejects with `overloaded` if too many writes are waiting. */
  add(wire: WireWrite, value?: Buffer): Promise<WireWriteResult> {
    const bytes = value?.length ?? 0;
    if (this.#queue.length >= QUEUED_WRITES_MAX || this.#queuedBytes + bytes > QUEUED_BYTES_MAX) {
      return Promise.reject(
        new StorageError("overloaded", `${this.#queue.length} writes are already waiting for the disk.`),
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<WireWriteResult>();
    this.#queue.push({ wire, value, resolve, reject });
    this.#queuedBytes += bytes;
    this.#sendSoon();
    return promise;
  }

  /**
   * Sends the batch in the next turn of the event loop, so that callers that were resumed by the last batch can add
   * their writes to this one. A transaction costs as much as processing a request, so under concurrent writes a batch
   * stays open as long as each turn adds a write.
   */
  #sendSoon(): void {
    if (this.#isBusy || this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#sendUnlessGrowing(0, OPEN_TURNS_MAX));
  }

  #sendUnlessGrowing(writesBefore: number, turnsLeft: number): void {
    const writes = this.#queue.length;
    const isConcurrent = writes > 1 || this.#lastBatchWrites > 1;
    if (isConcurrent && writes > writesBefore && turnsLeft > 0) {
      setImmediate(() => this.#sendUnlessGrowing(writes, turnsLeft - 1));
      return;
    }
    this.#isScheduled = false;
    this.#send();
  }

  #send(): void {
    if (this.#isBusy || this.#queue.length === 0) return;
    const batch = this.#takeBatch();
    this.#lastBatchWrites = batch.length;
    const values = pack(batch);
    this.#isBusy = true;
    const writes = batch.map(({ wire }) => wire);
    const isSent = !this.#link.hasFailed;
    const settle = (outcome: WorkerOutcome): void =>
      this.#settle(batch, isSent && this.#link.hasFailed ? undecided(outcome) : outcome);
    this.#link.send({ kind: "write", writes, values }, settle, [values]);
  }

  #takeBatch(): QueuedWrite[] {
    let length = 0;
    let bytes = 0;
    for (const { value } of this.#queue) {
      bytes += value?.length ?? 0;
      if (length > 0 && (length >= BATCH_WRITES_MAX || bytes > BATCH_BYTES_MAX)) {
        bytes -= value?.length ?? 0;
        break;
      }
      length++;
    }
    this.#queuedBytes -= bytes;
    return this.#queue.splice(0, length);
  }

  #settle(batch: readonly QueuedWrite[], outcome: WorkerOutcome): void {
    this.#isBusy = false;
    if (outcome instanceof StorageError || outcome.kind !== "write") {
      const error =
        outcome instanceof StorageError
          ? outcome
          : new StorageError("unavailable", "The storage thread returned an unexpected result.");
      for (const { reject } of batch) reject(error);
    } else {
      const { results } = outcome;
      const applied = batch.map((write, index) => ({ write, result: must(results[index], "each write has a result") }));
      this.#onApplied(applied, outcome.revision);
      for (const { write, result } of applied) write.resolve(result);
    }
    this.#sendSoon();
  }
}

/** Copies all values of a batch into one buffer, which is then transferred to the worker without another copy. */
function pack(batch: readonly QueuedWrite[]): ArrayBuffer {
  const bytes = batch.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
  const values = new Uint8Array(bytes);
  let offset = 0;
  for (const { wire, value } of batch) {
    if (wire.kind !== "put" || value === undefined) continue;
    wire.offset = offset;
    values.set(value, offset);
    offset += value.length;
  }
  return values.buffer;
}

/**
 * Turns an error into `undecided`: the worker ended before it replied, so it may or may not have committed the batch.
 */
function undecided(outcome: WorkerOutcome): WorkerOutcome {
  return outcome instanceof StorageError
    ? new StorageError("undecided", outcome.message, { cause: outcome.cause })
    : outcome;
}

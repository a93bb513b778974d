/**
 * The storage port over a channel to the process that has the store. The channel keeps order, so a watch hears of a
 * change before its commit is acknowledged, as it does over there. When the channel closes everything fails as
 * unavailable; it does not come back.
 */
import { closedError } from "../kv-memory/errors.ts";
import {
  StorageError,
  type Change,
  type CommitResult,
  type KeyValue,
  type Kv,
  type KvEvent,
  type LeaseId,
  type RangeRequest,
  type RangeResult,
  type WatchRequest,
  type WatchSink,
  type Watching,
} from "../kv.ts";
import { PAGE_KEYS, RANGE_ATTEMPTS_MAX, TAKEN_BATCHES, TAKEN_BYTES } from "./limits.ts";
import {
  batchBytes,
  type Call,
  type ClientMessage,
  type KvChannel,
  type ServerMessage,
  type WireError,
} from "./protocol.ts";

export function openChannelKv(channel: KvChannel): Kv {
  return new ChannelKv(channel);
}

interface Pending {
  readonly isCommit: boolean;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: StorageError) => void;
}

interface ChannelWatch {
  readonly id: number;
  readonly sink: WatchSink;
  takenBatches: number;
  takenBytes: number;
}

class ChannelKv implements Kv {
  readonly #channel: KvChannel;
  readonly #pending = new Map<number, Pending>();
  readonly #watches = new Map<number, ChannelWatch>();
  /** Calls that were accepted and have not been answered; closing waits for them. */
  readonly #calls = new Set<Promise<unknown>>();
  #nextId = 1;
  #closing: Promise<void> | undefined;
  #lost: StorageError | undefined;

  constructor(channel: KvChannel) {
    this.#channel = channel;
    channel.receive({ message: (message) => this.#take(message as ServerMessage), closed: () => this.#lose() });
  }

  range(request: RangeRequest): Promise<RangeResult> {
    return this.#accept(() => this.#rangeWhole(request));
  }

  commit(change: Change): Promise<CommitResult> {
    return this.#accept(async () => {
      const result = (await this.#call({ kind: "commit", change })) as CommitResult;
      if (result.committed || result.current === undefined) return result;
      return { ...result, current: withBuffer(result.current) };
    });
  }

  watch(request: WatchRequest, sink: WatchSink): Watching {
    const watch: ChannelWatch = { id: this.#nextId++, sink, takenBatches: 0, takenBytes: 0 };
    this.#watches.set(watch.id, watch);
    const ended = this.#lost ?? (this.#closing === undefined ? undefined : closedError());
    if (ended !== undefined) queueMicrotask(() => this.#end(watch.id, ended));
    else this.#send({ kind: "watch", id: watch.id, request });
    return {
      close: () => {
        if (this.#watches.delete(watch.id)) this.#send({ kind: "unwatch", id: watch.id });
      },
    };
  }

  currentRevision(): Promise<number> {
    return this.#accept(() => this.#call({ kind: "current-revision" })) as Promise<number>;
  }

  compact(revision: number): Promise<void> {
    return this.#accept(() => this.#call({ kind: "compact", revision })) as Promise<void>;
  }

  leaseGrant(ttlSeconds: number): Promise<LeaseId> {
    return this.#accept(() => this.#call({ kind: "lease-grant", ttlSeconds })) as Promise<LeaseId>;
  }

  leaseKeepAlive(lease: LeaseId): Promise<void> {
    return this.#accept(() => this.#call({ kind: "lease-keep-alive", lease })) as Promise<void>;
  }

  leaseRevoke(lease: LeaseId): Promise<void> {
    return this.#accept(() => this.#call({ kind: "lease-revoke", lease })) as Promise<void>;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#calls);
    for (const { id } of [...this.#watches.values()]) {
      this.#send({ kind: "unwatch", id });
      this.#end(id, closedError());
    }
  }

  #accept<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(closedError());
    const promise = call();
    this.#calls.add(promise);
    const forget = (): void => void this.#calls.delete(promise);
    promise.then(forget, forget);
    return promise;
  }

  #call(call: Call): Promise<unknown> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, isCommit: call.kind === "commit" });
      this.#send({ kind: "call", id, call });
    });
  }

  #send(message: ClientMessage): void {
    if (this.#lost === undefined) this.#channel.send(message);
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
    const limit = request.limit ?? Number.POSITIVE_INFINITY;
    const page = async (more: Partial<RangeRequest>): Promise<RangeResult> =>
      (await this.#call({ kind: "range", request: { ...request, ...more } })) as RangeResult;
    if (request.end === undefined || request.countOnly === true || limit <= PAGE_KEYS) {
      const whole = await page({});
      return { ...whole, items: whole.items.map(withBuffer) };
    }
    const first = await page({ limit: PAGE_KEYS });
    const items = first.items.map(withBuffer);
    const wanted = Math.min(limit, first.count);
    for (let last = items.at(-1); last !== undefined && items.length < wanted; last = items.at(-1)) {
      const next = await page({
        // The key followed by a zero byte is the next possible key.
        start: `${last.key}\0`,
        revision: request.revision ?? first.revision,
        limit: Math.min(PAGE_KEYS, wanted - items.length),
      });
      if (next.items.length === 0) break;
      for (const item of next.items) items.push(withBuffer(item));
    }
    return { items, count: first.count, revision: first.revision };
  }

  #take(message: ServerMessage): void {
    switch (message.kind) {
      case "result":
        this.#settle(message.id)?.resolve(message.result);
        return;
      case "error":
        this.#settle(message.id)?.reject(fromWire(message.error));
        return;
      case "events":
        this.#deliver(this.#watches.get(message.id), message.batch);
        return;
      case "progress":
        this.#guard(message.id, (sink) => sink.progress(message.revision));
        return;
      case "interrupted":
        this.#guard(message.id, (sink) => sink.interrupted(message.isInterrupted));
        return;
      case "closed":
        this.#end(message.id, fromWire(message.error));
        return;
      default:
      // Whatever else the channel carries is not about the store.
    }
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #deliver(watch: ChannelWatch | undefined, batch: readonly KvEvent[]): void {
    if (watch === undefined) return;
    watch.takenBatches++;
    watch.takenBytes += batchBytes(batch);
    this.#guard(watch.id, (sink) => sink.events(batch.map(eventWithBuffer)));
    if (watch.takenBatches < TAKEN_BATCHES && watch.takenBytes < TAKEN_BYTES) return;
    this.#send({ kind: "taken", id: watch.id, batches: watch.takenBatches, bytes: watch.takenBytes });
    watch.takenBatches = 0;
    watch.takenBytes = 0;
  }

  #guard(id: number, deliver: (sink: WatchSink) => void): void {
    const watch = this.#watches.get(id);
    if (watch === undefined) return;
    try {
      deliver(watch.sink);
    } catch (thrown) {
      this.#send({ kind: "unwatch", id });
      const message = "The receiver of a watch failed, so the watch was ended.";
      this.#end(id, new StorageError("unavailable", message, { cause: thrown }));
    }
  }

  #end(id: number, error: StorageError): void {
    const watch = this.#watches.get(id);
    if (watch === undefined) return;
    this.#watches.delete(id);
    watch.sink.closed(error);
  }

  #lose(): void {
    this.#lost = new StorageError("unavailable", "The process that has the store is gone.");
    const undecided = new StorageError("undecided", this.#lost.message);
    for (const { reject, isCommit } of this.#pending.values()) reject(isCommit ? undecided : this.#lost);
    this.#pending.clear();
    for (const id of [...this.#watches.keys()]) this.#end(id, this.#lost);
  }
}

function fromWire({ code, message, revision }: WireError): StorageError {
  return new StorageError(code, message, revision === undefined ? {} : { revision });
}

function withBuffer(item: KeyValue): KeyValue {
  return Buffer.isBuffer(item.value) ? item : { ...item, value: asBuffer(item.value) };
}

function eventWithBuffer(event: KvEvent): KvEvent {
  return event.kind === "delete" || Buffer.isBuffer(event.value) ? event : { ...event, value: asBuffer(event.value) };
}

/** A structured clone of a Buffer is a plain Uint8Array. */
function asBuffer(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

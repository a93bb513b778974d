/**
 * The storage port over a channel to the process that owns the store. The channel keeps order, so a watch receives a
 * change before the commit of that change is acknowledged, as in the store itself. When the channel closes, pending
 * commits fail as `undecided` and all other calls as `unavailable`; the client does not reconnect.
 */
import { AcceptedCalls } from "../accepted-calls.ts";
import { HistoryListeners } from "../history-listeners.ts";
import { closedError } from "../kv-errors.ts";
import {
  keyAfter,
  StorageError,
  type Change,
  type CommitResult,
  type HistoryListener,
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
import { readRange, type PageRequest, type RangePage } from "../read-range.ts";
import { PAGE_KEYS, TAKEN_BATCHES, TAKEN_BYTES } from "./ipc-limits.ts";
import {
  batchBytes,
  type StoreCall,
  type ClientMessage,
  type KvChannel,
  type ServerMessage,
  type ChannelError,
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
  readonly #calls = new AcceptedCalls();
  readonly #historyListeners = new HistoryListeners();
  #nextId = 1;
  #closing: Promise<void> | undefined;
  #lost: StorageError | undefined;

  constructor(channel: KvChannel) {
    this.#channel = channel;
    channel.receive({ message: (message) => this.#take(message as ServerMessage), closed: () => this.#lose() });
  }

  range(request: RangeRequest): Promise<RangeResult> {
    return this.#calls.run(() => readRange(request, (page) => this.#rangePage(request, page)));
  }

  commit(change: Change): Promise<CommitResult> {
    return this.#calls.run(async () => {
      const result = (await this.#call({ kind: "commit", change })) as CommitResult;
      if (result.committed || result.current === undefined) return result;
      return { ...result, current: withBuffer(result.current) };
    });
  }

  watch(request: WatchRequest, sink: WatchSink): Watching {
    const watch: ChannelWatch = { id: this.#nextId++, sink, takenBatches: 0, takenBytes: 0 };
    this.#watches.set(watch.id, watch);
    const ended = this.#lost ?? (this.#calls.isClosed ? closedError() : undefined);
    if (ended !== undefined) queueMicrotask(() => this.#end(watch.id, ended));
    else this.#send({ kind: "watch", id: watch.id, request });
    return {
      close: () => {
        if (this.#watches.delete(watch.id)) this.#send({ kind: "unwatch", id: watch.id });
      },
    };
  }

  onHistoryChange(listener: HistoryListener): () => void {
    return this.#historyListeners.add(listener);
  }

  currentRevision(): Promise<number> {
    return this.#calls.run(() => this.#call({ kind: "current-revision" })) as Promise<number>;
  }

  compact(revision: number): Promise<void> {
    return this.#calls.run(() => this.#call({ kind: "compact", revision })) as Promise<void>;
  }

  leaseGrant(ttlSeconds: number): Promise<LeaseId> {
    return this.#calls.run(() => this.#call({ kind: "lease-grant", ttlSeconds })) as Promise<LeaseId>;
  }

  leaseKeepAlive(lease: LeaseId): Promise<void> {
    return this.#calls.run(() => this.#call({ kind: "lease-keep-alive", lease })) as Promise<void>;
  }

  leaseRevoke(lease: LeaseId): Promise<void> {
    return this.#calls.run(() => this.#call({ kind: "lease-revoke", lease })) as Promise<void>;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#calls.close();
    for (const { id } of [...this.#watches.values()]) {
      this.#send({ kind: "unwatch", id });
      this.#end(id, closedError());
    }
  }

  #call(call: StoreCall): Promise<unknown> {
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

  async #rangePage(request: RangeRequest, { start, revision, limit }: PageRequest): Promise<RangePage> {
    const page = {
      ...request,
      start,
      limit: Math.min(PAGE_KEYS, limit),
      ...(revision === undefined ? {} : { revision }),
    };
    const result = (await this.#call({ kind: "range", request: page })) as RangeResult;
    const items = result.items.map(withBuffer);
    const last = items.at(-1);
    // `count` is the number of keys from the start of this page to the end of the range.
    const hasMore = last !== undefined && result.count > items.length;
    return { ...result, items, nextStart: hasMore ? keyAfter(last.key) : undefined };
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
      case "history-changed":
        this.#historyListeners.call(message.evidence);
        return;
      default:
      // The channel may carry other messages, which the store ignores.
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
    this.#lost = new StorageError("unavailable", "The channel to the process that owns the store has closed.");
    const undecided = new StorageError("undecided", this.#lost.message);
    for (const { reject, isCommit } of this.#pending.values()) reject(isCommit ? undecided : this.#lost);
    this.#pending.clear();
    for (const id of [...this.#watches.keys()]) this.#end(id, this.#lost);
  }
}

function fromWire({ code, message, revision }: ChannelError): StorageError {
  return new StorageError(code, message, revision === undefined ? {} : { revision });
}

function withBuffer(item: KeyValue): KeyValue {
  return Buffer.isBuffer(item.value) ? item : { ...item, value: asBuffer(item.value) };
}

function eventWithBuffer(event: KvEvent): KvEvent {
  return event.kind === "delete" || Buffer.isBuffer(event.value) ? event : { ...event, value: asBuffer(event.value) };
}

/** Converts a value back to a Buffer, because a structured clone turns a Buffer into a plain Uint8Array. */
function asBuffer(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

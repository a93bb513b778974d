/**
 * Serves a store over a channel, in the process that owns the store. The client process may be killed or paused at any
 * moment. When it is gone, its watches end and its leases expire; while it is paused, its unacknowledged events are
 * bounded.
 */
import {
  GUARDS_MAX,
  StorageError,
  type Change,
  type CommitResult,
  type Kv,
  type KvEvent,
  type Watching,
} from "../kv.ts";
import { PENDING_CALLS_MAX, UNTAKEN_BATCHES_MAX, UNTAKEN_BYTES_MAX, WATCHES_MAX } from "./ipc-limits.ts";
import {
  batchBytes,
  type StoreCall,
  type ClientMessage,
  type KvChannel,
  type ServerMessage,
  type ChannelError,
} from "./protocol.ts";

/** Serves the store to one client. The store stays open when the channel closes. */
export function serveKv(kv: Kv, channel: KvChannel): void {
  const client = new Client(kv, channel);
  channel.receive({ message: (message) => client.take(message), closed: () => client.end() });
}

interface ServedWatch {
  readonly id: number;
  watching: Watching | undefined;
  untakenBatches: number;
  untakenBytes: number;
  isOpen: boolean;
}

class Client {
  readonly #kv: Kv;
  readonly #channel: KvChannel;
  readonly #watches = new Map<number, ServedWatch>();
  readonly #unlisten: () => void;
  #pending = 0;
  #isOpen = true;

  constructor(kv: Kv, channel: KvChannel) {
    this.#kv = kv;
    this.#channel = channel;
    this.#unlisten = kv.onHistoryChange((evidence) => this.#send({ kind: "history-changed", evidence }));
  }

  take(received: unknown): void {
    const message = received as ClientMessage;
    switch (message.kind) {
      case "call":
        void this.#answer(message.id, message.call);
        return;
      case "watch":
        this.#watch(message.id, message.request);
        return;
      case "unwatch":
        this.#forget(this.#watches.get(message.id));
        return;
      case "taken":
        this.#taken(message);
        return;
      default:
      // The channel may carry other messages, which the store ignores.
    }
  }

  end(): void {
    this.#isOpen = false;
    this.#unlisten();
    for (const watch of this.#watches.values()) this.#forget(watch);
  }

  #send(message: ServerMessage): void {
    if (this.#isOpen) this.#channel.send(message);
  }

  async #answer(id: number, call: StoreCall): Promise<void> {
    if (this.#pending >= PENDING_CALLS_MAX) {
      const error = new StorageError(
        "overloaded",
        `The client has ${this.#pending} pending calls, which is the limit.`,
      );
      this.#send({ kind: "error", id, error: toWire(error) });
      return;
    }
    this.#pending++;
    try {
      this.#send({ kind: "result", id, result: await this.#perform(call) });
    } catch (thrown) {
      this.#send({ kind: "error", id, error: toWire(thrown) });
    } finally {
      this.#pending--;
    }
  }

  #perform(call: StoreCall): Promise<unknown> {
    const kv = this.#kv;
    switch (call.kind) {
      case "range":
        return kv.range(call.request);
      case "commit":
        return this.#commit(call.change);
      case "current-revision":
        return kv.currentRevision();
      case "compact":
        return kv.compact(call.revision);
      case "lease-grant":
        return kv.leaseGrant(call.ttlSeconds);
      case "lease-keep-alive":
        return kv.leaseKeepAlive(call.lease);
      case "lease-revoke":
        return kv.leaseRevoke(call.lease);
      default:
        return Promise.reject(new StorageError("unavailable", "The store does not support this call."));
    }
  }

  #commit(change: Change): Promise<CommitResult> {
    // A malformed guard must not be treated as a guard that holds.
    if (change.guards !== undefined && !areGuards(change.guards))
      return Promise.reject(new StorageError("unavailable", "The guards of a write are malformed."));
    if (change.kind !== "put") return this.#kv.commit(change);
    return this.#kv.commit({ ...change, value: asBuffer(change.value) });
  }

  #watch(id: number, request: { prefix: string; fromRevision: number }): void {
    const watch: ServedWatch = { id, watching: undefined, untakenBatches: 0, untakenBytes: 0, isOpen: true };
    if (this.#watches.size >= WATCHES_MAX) {
      const error = new StorageError(
        "overloaded",
        `The client has ${this.#watches.size} open watches, which is the limit.`,
      );
      this.#send({ kind: "closed", id, error: toWire(error) });
      return;
    }
    this.#watches.set(id, watch);
    watch.watching = this.#kv.watch(request, {
      events: (batch) => this.#events(watch, batch),
      progress: (revision) => this.#send({ kind: "progress", id, revision }),
      interrupted: (isInterrupted) => this.#send({ kind: "interrupted", id, isInterrupted }),
      closed: (error) => {
        this.#watches.delete(id);
        this.#send({ kind: "closed", id, error: toWire(error) });
      },
    });
  }

  #events(watch: ServedWatch, batch: readonly KvEvent[]): void {
    watch.untakenBatches++;
    watch.untakenBytes += batchBytes(batch);
    const { id, untakenBatches, untakenBytes } = watch;
    if (untakenBatches <= UNTAKEN_BATCHES_MAX && untakenBytes <= UNTAKEN_BYTES_MAX) {
      this.#send({ kind: "events", id, batch });
      return;
    }
    this.#forget(watch);
    const first = batch[0]?.modRevision ?? 0;
    const error = new StorageError("revision-compacted", "The watch has fallen too far behind.", { revision: first });
    this.#send({ kind: "closed", id, error: toWire(error) });
  }

  #taken({ id, batches, bytes }: { id: number; batches: number; bytes: number }): void {
    const watch = this.#watches.get(id);
    if (watch === undefined) return;
    watch.untakenBatches -= batches;
    watch.untakenBytes -= bytes;
  }

  #forget(watch: ServedWatch | undefined): void {
    if (watch === undefined) return;
    this.#watches.delete(watch.id);
    watch.watching?.close();
  }
}

function areGuards(received: unknown): boolean {
  return Array.isArray(received) && received.length <= GUARDS_MAX && received.every(isGuard);
}

function isGuard(received: unknown): boolean {
  if (typeof received !== "object" || received === null) return false;
  const { key, revision } = received as { key?: unknown; revision?: unknown };
  return typeof key === "string" && key !== "" && Number.isSafeInteger(revision);
}

function toWire(thrown: unknown): ChannelError {
  if (thrown instanceof StorageError) return { code: thrown.code, message: thrown.message, revision: thrown.revision };
  return {
    code: "unavailable",
    message: thrown instanceof Error ? thrown.message : String(thrown),
    revision: undefined,
  };
}

/** Converts a value back to a Buffer, because a structured clone turns a Buffer into a plain Uint8Array. */
function asBuffer(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

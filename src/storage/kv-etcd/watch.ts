/**
 * Runs all watches of a store on one shared stream, which is reopened whenever the stream or its channel is lost.
 *
 * Progress comes only from etcd's periodic notifications, and the hub sends no progress requests: before etcd 3.4.31
 * and 3.5.13, the response to a progress request may contain a revision whose events have not been delivered yet.
 */
import type { Cancel, Clock } from "../../base/clock.ts";
import { type KvEvent, type Watching, type WatchRequest, type WatchSink, StorageError } from "../kv.ts";
import { closedError } from "../kv-errors.ts";
import type { EtcdConnection, EtcdLog } from "./connection.ts";
import { EtcdWatch } from "./etcd-watch.ts";
import type { Channel, RpcStream } from "../grpc/channel.ts";
import { ETCD_BACKOFF_MS_MAX, ETCD_BACKOFF_MS_MIN, WATCH_CREATE_TIMEOUT_MS } from "./etcd-limits.ts";
import { METHOD } from "./messages.ts";
import { type WatchResponse, decodeWatchResponse, encodeWatchCancel, encodeWatchCreate } from "./watch-messages.ts";

/** This header makes an etcd member without a leader end the stream; otherwise the stream would go stale. */
const STREAM_HEADERS = { hasleader: "true" } as const;

interface WatchHubOptions {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  readonly log: EtcdLog;
  /** Called with the last event of each batch, before a sink receives the batch. */
  readonly onEvent: (event: KvEvent | undefined) => void;
}

export class WatchHub {
  readonly #options: WatchHubOptions;
  readonly #followers = new Set<EtcdWatch>();
  #byWatchId = new Map<number, EtcdWatch>();
  #channel: Channel | undefined;
  #stream: RpcStream | undefined;
  #lastWatchId = 0;
  #backoffMs = ETCD_BACKOFF_MS_MIN;
  #cancelReopen: Cancel = () => {};
  #cancelCreateTimer: Cancel | undefined;
  #isClosed = false;

  constructor(options: WatchHubOptions) {
    this.#options = options;
    options.connection.observe({
      up: (channel) => {
        this.#channel = channel;
        this.#openStream();
      },
      down: () => {
        this.#channel = undefined;
        this.#dropStream();
        this.#interruptAll();
      },
    });
  }

  watch(request: WatchRequest, sink: WatchSink): Watching {
    const follower = new EtcdWatch(request, sink);
    if (this.#isClosed) {
      // Deferred, so that the caller has received its handle before its sink is called.
      queueMicrotask(() => follower.end(closedError()));
      return { close: () => void (follower.isClosed = true) };
    }
    this.#followers.add(follower);
    if (this.#stream !== undefined) this.#create(follower);
    else this.#openStream();
    return { close: () => this.#close(follower) };
  }

  close(): void {
    this.#isClosed = true;
    this.endAll(closedError());
  }

  /** Ends all watches. A sink may start a new watch when it is notified. */
  endAll(error: StorageError): void {
    const ended = [...this.#followers];
    this.#dropStream();
    this.#followers.clear();
    for (const follower of ended) follower.end(error);
  }

  #close(follower: EtcdWatch): void {
    follower.isClosed = true;
    if (!this.#followers.delete(follower)) return;
    if (follower.watchId === 0) return;
    this.#byWatchId.delete(follower.watchId);
    this.#stream?.send(encodeWatchCancel(follower.watchId));
  }

  #openStream(): void {
    if (this.#isClosed || this.#channel === undefined || this.#stream !== undefined) return;
    if (this.#followers.size === 0) return;
    this.#cancelReopen();
    const channel = this.#channel;
    const stream: RpcStream = channel.stream(METHOD.watch, STREAM_HEADERS, {
      message: (message) => this.#accept(decodeWatchResponse(message)),
      ended: (failure) => {
        if (this.#stream === stream) this.#streamEnded(channel, failure);
      },
    });
    this.#stream = stream;
    for (const follower of this.#followers) this.#create(follower);
  }

  #create(follower: EtcdWatch): void {
    const watchId = ++this.#lastWatchId;
    this.#byWatchId.set(watchId, follower);
    this.#stream?.send(encodeWatchCreate(follower.createMessage(watchId)));
    this.#cancelCreateTimer ??= this.#options.clock.after(WATCH_CREATE_TIMEOUT_MS, () => this.#createTimedOut());
  }

  #createTimedOut(): void {
    this.#cancelCreateTimer = undefined;
    if (this.#channel !== undefined)
      this.#streamEnded(this.#channel, new Error("etcd did not confirm a watch in time"));
  }

  #accept(response: WatchResponse): void {
    const follower = this.#byWatchId.get(response.watchId);
    if (follower === undefined) return;
    if (response.isCanceled) {
      this.#canceled(follower, response);
      return;
    }
    if (response.isCreated) this.#created(follower);
    this.#options.onEvent(response.events.at(-1));
    follower.accept(response);
  }

  #created(follower: EtcdWatch): void {
    this.#backoffMs = ETCD_BACKOFF_MS_MIN;
    follower.created();
    for (const other of this.#byWatchId.values()) if (!other.isFollowing) return;
    this.#cancelCreateTimer?.();
    this.#cancelCreateTimer = undefined;
  }

  #canceled(follower: EtcdWatch, answer: WatchResponse): void {
    this.#byWatchId.delete(answer.watchId);
    if (answer.compactRevision > 0) {
      this.#followers.delete(follower);
      const message = `the watch would start below revision ${answer.compactRevision}, which etcd has compacted`;
      follower.end(new StorageError("revision-compacted", message, { revision: answer.compactRevision }));
      return;
    }
    this.#options.log("etcd canceled a watch", { reason: answer.cancelReason });
    follower.interrupt();
    // Creates only this watch again; the other watches are not interrupted.
    const stream = this.#stream;
    this.#options.clock.after(ETCD_BACKOFF_MS_MAX, () => {
      if (this.#stream === stream && this.#followers.has(follower) && follower.watchId === 0) this.#create(follower);
    });
  }

  #streamEnded(channel: Channel, failure: Error): void {
    this.#dropStream();
    this.#options.log("etcd watch stream ended", { endpoint: channel.endpoint.host, problem: failure.message });
    this.#options.connection.report(channel, failure);
    this.#interruptAll();
    this.#cancelReopen = this.#options.clock.after(this.#backoffMs, () => this.#openStream());
    this.#backoffMs = Math.min(this.#backoffMs * 2, ETCD_BACKOFF_MS_MAX);
  }

  #dropStream(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    this.#byWatchId = new Map();
    this.#cancelReopen();
    this.#cancelCreateTimer?.();
    this.#cancelCreateTimer = undefined;
    stream?.cancel();
  }

  /** Iterates over a copy, because a sink may close watches or open new ones when it is notified. */
  #interruptAll(): void {
    for (const follower of [...this.#followers]) follower.interrupt();
  }
}

/**
 * The connection of one host to the shared store, which may be down, slow or behind. As with a real store, a call fails
 * with `unavailable` if the store is down, and with `undecided` if its response is lost after the store has executed
 * it. Watch events may be late, but none is lost, unless the store is restored from a backup.
 */
import { sleep } from "../../base/clock.ts";
import {
  StorageError,
  type Change,
  type CommitResult,
  type HistoryListener,
  type Kv,
  type KvEvent,
  type WatchRequest,
  type WatchSink,
  type Watching,
} from "../../storage/kv.ts";
import type { SentWrite, StoreHistory, StoreWriter } from "./history.ts";
import type { Host } from "./host.ts";

export interface StoreFault {
  /** No call succeeds and no watch event is delivered. */
  readonly isDown: boolean;
  /** Maximum delay of a call. */
  readonly slowMs: number;
  /** No watch event is delivered. */
  readonly isLagging: boolean;
  /** The share of calls that are executed but whose response is lost. */
  readonly responsesLost: number;
}

export const STORE_IS_FINE: StoreFault = { isDown: false, slowMs: 0, isLagging: false, responsesLost: 0 };

interface StoreLinkOptions {
  readonly kv: Kv;
  readonly writer: StoreWriter;
  readonly history: StoreHistory;
  /** Returns the crash to inject when a change of this key reaches the store; undefined for none. */
  readonly injectCrash: (key: string) => InjectedCrash | undefined;
}

export interface InjectedCrash {
  readonly side: "before" | "after";
  crash(): void;
}

interface OpenWatch {
  readonly sink: WatchSink;
  /** Calls `deliver` if the watch is open, once the host is running. */
  readonly whileOpen: (deliver: () => void) => void;
  readonly missed: (readonly KvEvent[])[];
  readonly close: () => void;
  readonly end: (error: StorageError) => void;
  /** The error with which the watch has ended while the store was down. */
  endedWith: StorageError | undefined;
}

/** Maximum time for which a call tries to reach a store that is down. */
const GIVE_UP_MS_MAX = 3_000;

export class StoreLink implements Kv {
  readonly #options: StoreLinkOptions;
  readonly #kv: Kv;
  readonly #host: Host;
  readonly #watches = new Set<OpenWatch>();
  /** Reports of changes of the history while the store was down. */
  readonly #heldReports = new Set<() => void>();
  /** Number of changes of the history, each counted when it happens and when this host can notice it. */
  #historyChanges = 0;
  #fault: StoreFault = STORE_IS_FINE;

  constructor(options: StoreLinkOptions) {
    this.#options = options;
    this.#kv = options.kv;
    this.#host = options.writer.host;
    this.#host.onDeath(() => void this.#kv.close());
    this.#kv.onHistoryChange(() => this.#historyChanges++);
  }

  get isFine(): boolean {
    return this.#fault === STORE_IS_FINE;
  }

  setFault(fault: StoreFault): void {
    const before = this.#fault;
    this.#fault = fault;
    if (!fault.isDown) this.#noticeHistoryChanges();
    if (!fault.isDown && !fault.isLagging) this.#catchUp();
    if (fault.isDown === before.isDown) return;
    for (const { sink, whileOpen } of [...this.#watches]) whileOpen(() => sink.interrupted(fault.isDown));
  }

  /** Ends all watches, as if the events that they have not received yet had been compacted. */
  loseHistory(): void {
    for (const { sink, close } of [...this.#watches]) {
      close();
      const error = new StorageError("revision-compacted", "the history was compacted", { revision: 1 });
      this.#host.run(() => sink.closed(error));
    }
  }

  readonly range: Kv["range"] = (request) => this.#call(() => this.#kv.range(request));
  readonly currentRevision: Kv["currentRevision"] = () => this.#call(() => this.#kv.currentRevision());
  readonly compact: Kv["compact"] = (revision) => this.#call(() => this.#kv.compact(revision));
  readonly leaseGrant: Kv["leaseGrant"] = (ttlSeconds) => this.#call(() => this.#kv.leaseGrant(ttlSeconds));
  readonly leaseKeepAlive: Kv["leaseKeepAlive"] = (lease) => this.#call(() => this.#kv.leaseKeepAlive(lease));
  readonly leaseRevoke: Kv["leaseRevoke"] = (lease) => this.#call(() => this.#kv.leaseRevoke(lease));

  commit(change: Change): Promise<CommitResult> {
    const sending = this.#options.history.departure(this.#options.writer);
    return this.#call(() => this.#arrive(change, sending));
  }

  watch(request: WatchRequest, sink: WatchSink): Watching {
    let isOpen = true;
    const missed: (readonly KvEvent[])[] = [];
    const whileOpen = (deliver: () => void): void => this.#host.run(() => isOpen && deliver());
    const watching = this.#kv.watch(request, {
      events: (batch) => {
        if (this.#isSilent) missed.push(batch);
        else whileOpen(() => sink.events(batch));
      },
      progress: (revision) => {
        if (!this.#isSilent) whileOpen(() => sink.progress(revision));
      },
      interrupted: (isInterrupted) => whileOpen(() => sink.interrupted(isInterrupted)),
      closed: (error) => {
        // A server that cannot reach the store notices when it can: before it receives anything of the new history.
        if (error.code === "history-changed" && this.#fault.isDown) watch.endedWith = error;
        else end(error);
      },
    });
    const end = (error: StorageError): void => {
      this.#watches.delete(watch);
      whileOpen(() => sink.closed(error));
    };
    const close = (): void => {
      isOpen = false;
      this.#watches.delete(watch);
      watching.close();
    };
    const watch: OpenWatch = { sink, whileOpen, missed, close, end, endedWith: undefined };
    this.#watches.add(watch);
    if (this.#fault.isDown) queueMicrotask(() => whileOpen(() => sink.interrupted(true)));
    return { close };
  }

  /** A server that cannot reach the store notices a change when it can: before it receives anything of the new history. */
  onHistoryChange(listener: HistoryListener): () => void {
    let isListening = true;
    const unlisten = this.#kv.onHistoryChange((evidence) => {
      const report = (): void => this.#host.run(() => isListening && listener(evidence));
      if (this.#fault.isDown) this.#heldReports.add(report);
      else report();
    });
    return () => {
      isListening = false;
      unlisten();
    };
  }

  close(): Promise<void> {
    return this.#kv.close();
  }

  #arrive(change: Change, sending: SentWrite): Promise<CommitResult> {
    const crash = this.#options.injectCrash(change.key);
    if (crash?.side === "before") {
      crash.crash();
      return new Promise(() => {});
    }
    const committing = this.#options.history.arrival(sending, () => this.#kv.commit(change));
    crash?.crash();
    return committing;
  }

  get #isSilent(): boolean {
    return this.#fault.isDown || this.#fault.isLagging;
  }

  #noticeHistoryChanges(): void {
    const reports = [...this.#heldReports];
    this.#heldReports.clear();
    if (reports.length > 0) this.#historyChanges++;
    for (const report of reports) report();
    for (const { end, endedWith } of [...this.#watches]) if (endedWith !== undefined) end(endedWith);
  }

  #catchUp(): void {
    for (const { sink, whileOpen, missed } of [...this.#watches])
      for (const batch of missed.splice(0)) whileOpen(() => sink.events(batch));
  }

  #call<T>(work: () => Promise<T>): Promise<T> {
    return this.#host.settleWhileRunning(() => (this.#fault === STORE_IS_FINE ? work() : this.#callFaultyStore(work)));
  }

  async #callFaultyStore<T>(work: () => Promise<T>): Promise<T> {
    const { clock, random } = this.#host;
    const { slowMs, responsesLost } = this.#fault;
    const changes = this.#historyChanges;
    if (slowMs > 0) await sleep(clock, random.float() * slowMs);
    if (this.#fault.isDown) {
      await sleep(clock, random.float() * GIVE_UP_MS_MAX);
      if (this.#fault.isDown) throw new StorageError("unavailable", "the store is down");
    }
    // As with etcd, a restore breaks the connections, and a server compares the histories before it sends anything.
    if (changes !== this.#historyChanges)
      throw new StorageError("unavailable", "the connection broke because the store was restored");
    const result = await work();
    if (random.float() < responsesLost) throw new StorageError("undecided", "the response of the store was lost");
    return result;
  }
}

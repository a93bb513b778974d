/**
 * One watch on a memory store: a position in the store's log. Every delivery reads on from that
 * position, whether it begins with history or with the newest commit, so nothing is missed or repeated.
 */
import { StorageError, type KvEvent, type WatchRequest, type WatchSink } from "../kv.ts";
import { compactedError } from "../kv-errors.ts";

export interface ChangeLog {
  readonly revision: number;
  readonly compactRevision: number;
  /** All changes from a revision on; the revision is not below `compactRevision`. */
  since(revision: number): readonly KvEvent[];
}

export class Watcher {
  readonly #log: ChangeLog;
  readonly #prefix: string;
  readonly #sink: WatchSink;
  readonly #onEnd: (watcher: Watcher) => void;
  #nextRevision: number;
  #isOpen = true;
  #isDelivering = false;
  #hasDelivered = false;

  constructor(options: { log: ChangeLog; request: WatchRequest; sink: WatchSink; onEnd: (watcher: Watcher) => void }) {
    this.#log = options.log;
    this.#prefix = options.request.prefix;
    this.#nextRevision = options.request.fromRevision;
    this.#sink = options.sink;
    this.#onEnd = options.onEnd;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#onEnd(this);
  }

  end(error: StorageError): void {
    if (!this.#isOpen) return;
    this.close();
    this.#sink.closed(error);
  }

  /** Delivers what the sink has not seen. A commit made by the sink itself is picked up by the outer call. */
  deliver(): void {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      this.#sayWhereItStands();
      while (this.#isOpen && this.#nextRevision <= this.#log.revision) this.#deliverOnce();
    } catch (thrown) {
      this.end(
        new StorageError("unavailable", "The receiver of a watch failed, so the watch was ended.", { cause: thrown }),
      );
    } finally {
      this.#isDelivering = false;
    }
  }

  /** A watch that begins after the newest revision learns so: it may otherwise hear nothing for long. */
  #sayWhereItStands(): void {
    if (!this.#hasDelivered && this.#isOpen && this.#nextRevision === this.#log.revision + 1)
      this.#sink.progress(this.#log.revision);
    this.#hasDelivered = true;
  }

  #deliverOnce(): void {
    const { revision, compactRevision } = this.#log;
    if (this.#nextRevision < compactRevision) return this.end(compactedError(this.#nextRevision, compactRevision));
    const batch = this.#log.since(this.#nextRevision).filter((event) => event.key.startsWith(this.#prefix));
    this.#nextRevision = revision + 1;
    if (batch.length > 0) this.#sink.events(batch);
    if (this.#isOpen) this.#sink.progress(revision);
  }
}

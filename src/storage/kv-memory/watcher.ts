/**
 * One watch on a memory store. It is a position in the store's log, and every delivery continues from that position,
 * whether the events are old or just committed, so that no event is missed or repeated.
 */
import { StorageError, type KvEvent, type WatchRequest, type WatchSink } from "../kv.ts";
import { compactedError } from "../kv-errors.ts";

export interface ChangeLog {
  readonly revision: number;
  readonly compactRevision: number;
  /** All changes at or after the revision, which must not be below `compactRevision`. */
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

  /**
   * Delivers the changes that the sink has not received. If the sink commits a change during delivery, the running call
   * delivers that change too.
   */
  deliver(): void {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      this.#reportInitialProgress();
      while (this.#isOpen && this.#nextRevision <= this.#log.revision) this.#deliverOnce();
    } catch (thrown) {
      this.end(
        new StorageError("unavailable", "The receiver of a watch failed, so the watch was ended.", { cause: thrown }),
      );
    } finally {
      this.#isDelivering = false;
    }
  }

  /**
   * Reports progress at once to a watch that starts after the newest revision, because otherwise it may receive nothing
   * for a long time.
   */
  #reportInitialProgress(): void {
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

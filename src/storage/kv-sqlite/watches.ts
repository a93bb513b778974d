/**
 * The watches of one SQLite store. A watch that starts in the past reads history from the worker page by page. After
 * the last page it has received exactly the changes announced so far, and from then on it is live: it receives each
 * batch when the batch is announced. Batches are announced before their commits are acknowledged.
 */
import { StorageError, prefixEnd, type KvEvent, type WatchRequest, type WatchSink, type Watching } from "../kv.ts";
import { unpackEvents } from "./unpack.ts";
import type { WorkerOutcome, WorkerLink } from "./worker-link.ts";

/** `isLive` is false while the watch reads history. */
interface Watch {
  readonly prefix: string;
  readonly sink: WatchSink;
  nextRevision: number;
  isLive: boolean;
  isOpen: boolean;
}

export class Watches {
  readonly #link: WorkerLink;
  readonly #watches = new Set<Watch>();
  #revision: number;
  #ended: StorageError | undefined;

  constructor(link: WorkerLink, revision: number) {
    this.#link = link;
    this.#revision = revision;
  }

  /** The newest revision that was announced to the live watches. */
  get revision(): number {
    return this.#revision;
  }

  start(request: WatchRequest, sink: WatchSink): Watching {
    const watch: Watch = {
      prefix: request.prefix,
      sink,
      nextRevision: request.fromRevision,
      isLive: false,
      isOpen: true,
    };
    this.#watches.add(watch);
    if (request.fromRevision > this.#revision) watch.isLive = true;
    // Deferred, so that the caller has received the watch before its sink is called.
    queueMicrotask(() => this.#begin(watch));
    return { close: () => this.#forget(watch) };
  }

  /** Delivers the events, which must all be newer than the last announced revision, to the live watches. */
  announce(events: readonly KvEvent[], revision: number): void {
    this.#revision = revision;
    for (const watch of this.#watches) {
      if (!watch.isLive || watch.nextRevision > revision) continue;
      const { nextRevision, prefix } = watch;
      this.#deliver(
        watch,
        events.filter((event) => event.modRevision >= nextRevision && event.key.startsWith(prefix)),
        revision,
      );
    }
  }

  /** Ends all watches. Watches that are started later end at once. */
  endAll(error: StorageError): void {
    this.#ended ??= error;
    for (const watch of this.#watches) this.#end(watch, error);
  }

  #begin(watch: Watch): void {
    if (!watch.isOpen) return;
    if (this.#ended !== undefined) return this.#end(watch, this.#ended);
    if (!watch.isLive) return this.#readHistory(watch);
    if (watch.nextRevision === this.#revision + 1) this.#deliver(watch, [], this.#revision);
  }

  #readHistory(watch: Watch): void {
    const { prefix, nextRevision: fromRevision } = watch;
    this.#link.send({ kind: "history", prefix, end: prefixEnd(prefix), fromRevision }, (outcome) =>
      this.#takeHistory(watch, outcome),
    );
  }

  #takeHistory(watch: Watch, outcome: WorkerOutcome): void {
    if (!watch.isOpen) return;
    if (outcome instanceof StorageError) return this.#end(watch, outcome);
    if (outcome.kind !== "history") return;
    // Set before delivery, because the sink may start other work. No commit can be announced between the two lines.
    watch.isLive = outcome.isLast;
    this.#deliver(watch, unpackEvents(outcome.rows), outcome.throughRevision);
    if (watch.isOpen && !watch.isLive) this.#readHistory(watch);
  }

  #deliver(watch: Watch, batch: readonly KvEvent[], revision: number): void {
    watch.nextRevision = revision + 1;
    try {
      if (batch.length > 0) watch.sink.events(batch);
      if (watch.isOpen) watch.sink.progress(revision);
    } catch (thrown) {
      this.#end(
        watch,
        new StorageError("unavailable", "The receiver of a watch failed, so the watch was ended.", { cause: thrown }),
      );
    }
  }

  #end(watch: Watch, error: StorageError): void {
    if (!watch.isOpen) return;
    this.#forget(watch);
    watch.sink.closed(error);
  }

  #forget(watch: Watch): void {
    watch.isOpen = false;
    this.#watches.delete(watch);
  }
}

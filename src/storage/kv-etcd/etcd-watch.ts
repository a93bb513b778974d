/**
 * The state of one watch, independent of the stream on which it currently runs: the revision at which it resumes, and
 * whether its sink was notified of an interruption.
 *
 * `nextRevision` ensures that no event is missed or repeated: everything below it has been delivered, nothing at or
 * above it has. Some etcd versions repeat events or go back in time after a member caught up by snapshot, so the watch
 * drops events below `nextRevision`.
 */
import type { KvEvent, StorageError, WatchRequest, WatchSink } from "../kv.ts";
import { prefixKeys } from "./range.ts";
import type { WatchResponse, WatchCreateMessage } from "./watch-messages.ts";

export class EtcdWatch {
  /** The watch ID on the current stream; 0 if there is no stream. */
  watchId = 0;
  isFollowing = false;
  isClosed = false;
  readonly #prefix: string;
  readonly #sink: WatchSink;
  #nextRevision: number;
  #isInterrupted = false;
  /** Events of the newest received revision, held back until no fragment can add more events of that revision. */
  #held: KvEvent[] = [];

  constructor(request: WatchRequest, sink: WatchSink) {
    this.#prefix = request.prefix;
    this.#sink = sink;
    // To etcd, start revision 0 means "from the current revision".
    this.#nextRevision = Math.max(1, request.fromRevision);
  }

  /** Returns the message that starts or resumes the watch on a stream, with a new watch ID. */
  createMessage(watchId: number): WatchCreateMessage {
    this.watchId = watchId;
    this.isFollowing = false;
    this.#held = [];
    return { watchId, ...prefixKeys(this.#prefix), startRevision: this.#nextRevision };
  }

  created(): void {
    this.isFollowing = true;
    if (!this.#isInterrupted || this.isClosed) return;
    this.#isInterrupted = false;
    this.#sink.interrupted(false);
  }

  /** Called when the stream was lost or could not be opened. */
  interrupt(): void {
    this.watchId = 0;
    this.isFollowing = false;
    this.#held = [];
    if (this.#isInterrupted || this.isClosed) return;
    this.#isInterrupted = true;
    this.#sink.interrupted(true);
  }

  accept(response: WatchResponse): void {
    if (this.isClosed) return;
    if (response.events.length > 0) this.#acceptEvents(response);
    else if (!response.isCreated && !response.isFragment) this.#acceptProgress(response.revision);
  }

  end(error: StorageError): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#sink.closed(error);
  }

  #acceptEvents(answer: WatchResponse): void {
    let events = answer.events;
    if (events[0] !== undefined && events[0].modRevision < this.#nextRevision) {
      events = events.filter((event) => event.modRevision >= this.#nextRevision);
    }
    if (this.#held.length > 0) events = [...this.#held, ...events];
    this.#held = [];
    if (answer.isFragment) {
      const lastRevision = events.at(-1)?.modRevision;
      this.#held = events.filter((event) => event.modRevision === lastRevision);
      events = events.slice(0, events.length - this.#held.length);
    }
    const last = events.at(-1);
    if (last === undefined) return;
    this.#nextRevision = last.modRevision + 1;
    this.#sink.events(events);
  }

  /** Ignores a revision below `nextRevision`: the watch starts at a later revision, or the etcd member lags behind. */
  #acceptProgress(revision: number): void {
    if (this.#held.length > 0 || revision < this.#nextRevision - 1) return;
    this.#nextRevision = revision + 1;
    this.#sink.progress(revision);
  }
}

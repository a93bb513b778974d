/**
 * One watch, independent of the stream it currently runs on: what it has delivered, where it resumes,
 * and whether its sink believes it to be interrupted.
 *
 * `nextRevision` is the promise of "no gap, no duplicate": everything below it has been delivered,
 * nothing at or above it has. Some etcd versions repeat events or step back in time after a member
 * caught up by snapshot; what is below `nextRevision` is dropped.
 */
import type { KvEvent, StorageError, WatchRequest, WatchSink } from "../kv.ts";
import { prefixKeys } from "./range.ts";
import type { WatchAnswer, WatchCreateMessage } from "./watch-messages.ts";

export class EtcdFollower {
  /** The id on the current stream; 0 while there is none. */
  watchId = 0;
  isFollowing = false;
  isClosed = false;
  readonly #prefix: string;
  readonly #sink: WatchSink;
  #nextRevision: number;
  #isInterrupted = false;
  /** Events of the last revision seen, while fragments that may hold more of that revision are to come. */
  #held: KvEvent[] = [];

  constructor(request: WatchRequest, sink: WatchSink) {
    this.#prefix = request.prefix;
    this.#sink = sink;
    // To etcd, 0 means "from now on".
    this.#nextRevision = Math.max(1, request.fromRevision);
  }

  /** Begins anew on a stream, under a new id. */
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

  /** The stream is gone or was never there. */
  interrupt(): void {
    this.watchId = 0;
    this.isFollowing = false;
    this.#held = [];
    if (this.#isInterrupted || this.isClosed) return;
    this.#isInterrupted = true;
    this.#sink.interrupted(true);
  }

  accept(answer: WatchAnswer): void {
    if (this.isClosed) return;
    if (answer.events.length > 0) this.#acceptEvents(answer);
    else if (!answer.isCreated && !answer.isFragment) this.#acceptProgress(answer.revision);
  }

  end(error: StorageError): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#sink.closed(error);
  }

  #acceptEvents(answer: WatchAnswer): void {
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

  /** A watch that starts in the future, or a member that lags, may be told of revisions that are none of its own. */
  #acceptProgress(revision: number): void {
    if (this.#held.length > 0 || revision < this.#nextRevision - 1) return;
    this.#nextRevision = revision + 1;
    this.#sink.progress(revision);
  }
}

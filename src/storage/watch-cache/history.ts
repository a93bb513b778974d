/**
 * The recent changes of one partition of the watch cache (one resource, or the resources of one API group), and the
 * watchers of these changes. A watcher is a cursor into the history and has no queue of its own, so a slow watcher
 * costs no memory. When the history no longer contains the next event of a slow watcher, the watcher is ended.
 */
import type { Clock } from "../../base/clock.ts";
import type { Entry, Memo } from "./entry.ts";
import { HISTORY_AGE_MS, HISTORY_BYTES_MAX, HISTORY_EVENTS_MAX, HISTORY_EVENTS_MIN } from "./cache-limits.ts";

export interface CacheEvent {
  readonly kind: "put" | "delete";
  readonly revision: number;
  /** The new state of the object; for a delete, its last state with the revision of the deletion. */
  readonly entry: Entry;
  readonly previous: Entry | undefined;
  /** Encodings of this event, shared by all watchers. */
  readonly memo: Memo;
}

export interface HistoryWatcher {
  /**
   * Returns false if the watcher can accept no more events for now. It then calls `HistoryWatch.resume` when it can.
   */
  deliver(event: CacheEvent): boolean;
  /** Called when the watch has ended, because the history has dropped events that this watcher has not received. */
  fellBehind(): void;
}

export interface HistoryWatch {
  resume(): void;
  stop(): void;
  /** True if the watcher has received every event so far. */
  isCurrent(): boolean;
}

/**
 * Number of newest events whose encodings are kept. Watchers are rarely further behind, and keeping the encodings of
 * the whole history would double its size.
 */
const ENCODINGS_KEPT = 256;

interface Cursor {
  readonly follower: HistoryWatcher;
  readonly prefix: string;
  /** Changes up to this revision are not delivered, even if they happen after the watcher started. */
  readonly afterRevision: number;
  /** Sequence number of the next event to deliver. */
  next: number;
  isBlocked: boolean;
  isStopped: boolean;
}

export class History {
  readonly #clock: Clock;
  #events: CacheEvent[] = [];
  #times: number[] = [];
  /** Sequence number of the oldest event that is kept. */
  #first = 0;
  /** Number of dropped events that are still at the front of the arrays, from which they are removed in bulk. */
  #forgotten = 0;
  #bytes = 0;
  /** The history contains only changes after this revision. */
  #baseRevision: number;
  readonly #cursors = new Map<string, Set<Cursor>>();

  constructor(clock: Clock, baseRevision: number) {
    this.#clock = clock;
    this.#baseRevision = baseRevision;
  }

  get baseRevision(): number {
    return this.#baseRevision;
  }

  append(event: CacheEvent): void {
    this.#events.push(event);
    this.#times.push(this.#clock.monotonic());
    this.#bytes += event.entry.item.length;
    this.#trim();
    for (const prefix of prefixesOf(event.entry.key)) {
      const cursors = this.#cursors.get(prefix);
      if (cursors !== undefined) for (const cursor of cursors) this.#pump(cursor);
    }
    this.#events.at(-1 - ENCODINGS_KEPT)?.memo.clear();
  }

  /** Watches changes after the revision. Returns undefined if the history does not reach back to the revision. */
  follow(prefix: string, afterRevision: number, follower: HistoryWatcher): HistoryWatch | undefined {
    if (afterRevision < this.#baseRevision) return undefined;
    const cursor: Cursor = {
      follower,
      prefix,
      afterRevision,
      next: this.#sequenceAfter(afterRevision),
      isBlocked: false,
      isStopped: false,
    };
    let cursors = this.#cursors.get(prefix);
    if (cursors === undefined) this.#cursors.set(prefix, (cursors = new Set()));
    cursors.add(cursor);
    this.#pump(cursor);
    return {
      resume: () => {
        // A watcher that is not blocked has received all its events, even if its cursor points to a dropped event.
        if (!cursor.isBlocked) return;
        cursor.isBlocked = false;
        if (cursor.next < this.#first) this.#drop(cursor);
        else this.#pump(cursor);
      },
      stop: () => this.#remove(cursor),
      isCurrent: () => !cursor.isBlocked && !cursor.isStopped,
    };
  }

  /** Drops all events and ends every watcher, because the events that the watchers have not received are lost. */
  reset(baseRevision: number): void {
    const cursors = [...this.#cursors.values()].flatMap((set) => [...set]);
    this.#first += this.#events.length - this.#forgotten;
    this.#events = [];
    this.#times = [];
    this.#forgotten = 0;
    this.#bytes = 0;
    this.#baseRevision = baseRevision;
    for (const cursor of cursors) this.#drop(cursor);
  }

  /**
   * Delivers the events under the watcher's prefix and skips the others. The watcher may stop itself or block during
   * delivery. A watcher that was not blocked has received all its events, even if the history has since dropped the
   * event at its cursor.
   */
  #pump(cursor: Cursor): void {
    while (!cursor.isBlocked && !cursor.isStopped) {
      if (cursor.next < this.#first) cursor.next = this.#first;
      const event = this.#events[cursor.next - this.#first + this.#forgotten];
      if (event === undefined) return;
      cursor.next++;
      if (event.revision <= cursor.afterRevision || !isUnder(event.entry.key, cursor.prefix)) continue;
      if (!cursor.follower.deliver(event)) cursor.isBlocked = true;
    }
  }

  #trim(): void {
    const oldest = this.#clock.monotonic() - HISTORY_AGE_MS;
    for (;;) {
      const count = this.#events.length - this.#forgotten;
      const isAged = count > HISTORY_EVENTS_MIN && this.#times[this.#forgotten]! < oldest;
      if (count <= 1 || !(isAged || count > HISTORY_EVENTS_MAX || this.#bytes > HISTORY_BYTES_MAX)) break;
      const event = this.#events[this.#forgotten]!;
      this.#bytes -= event.entry.item.length;
      this.#baseRevision = event.revision;
      this.#forgotten++;
      this.#first++;
    }
    if (this.#forgotten > 1_000 && this.#forgotten > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#forgotten);
      this.#times = this.#times.slice(this.#forgotten);
      this.#forgotten = 0;
    }
  }

  #sequenceAfter(revision: number): number {
    let low = this.#forgotten;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low - this.#forgotten + this.#first;
  }

  #drop(cursor: Cursor): void {
    if (cursor.isStopped) return;
    this.#remove(cursor);
    cursor.follower.fellBehind();
  }

  #remove(cursor: Cursor): void {
    cursor.isStopped = true;
    const cursors = this.#cursors.get(cursor.prefix);
    cursors?.delete(cursor);
    if (cursors?.size === 0) this.#cursors.delete(cursor.prefix);
  }
}

function isUnder(key: string, prefix: string): boolean {
  return prefix.endsWith("/") ? key.startsWith(prefix) : key === prefix;
}

/** The only prefixes that watches use: "/a/", "/a/b/" and "/a/b/c" for the key "/a/b/c". */
function prefixesOf(key: string): string[] {
  const prefixes: string[] = [];
  for (let at = key.indexOf("/", 1); at >= 0; at = key.indexOf("/", at + 1)) prefixes.push(key.slice(0, at + 1));
  prefixes.push(key);
  return prefixes;
}

/**
 * The recent changes of one partition of the watch cache (one resource, or the resources of one API group), and the
 * watchers of these changes. A watcher is a cursor into the history and has no queue of its own, so a slow watcher
 * costs no memory. When the history no longer contains the next event of a slow watcher, the watcher is ended.
 *
 * A new event is delivered at once to a limited number of watchers, and to the others in later turns of the event loop.
 * Without the limit, the response to a write would wait for the delivery to thousands of watchers.
 */
import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { Entry } from "./entry.ts";
import type { Memo } from "./memo.ts";
import {
  DELIVERIES_AT_ONCE,
  HISTORY_AGE_MS,
  HISTORY_BYTES_MAX,
  HISTORY_EVENTS_MAX,
  HISTORY_EVENTS_MIN,
  VISITS_AT_ONCE,
} from "./cache-limits.ts";

export interface CacheEvent {
  readonly kind: "put" | "delete";
  readonly revision: number;
  /** The new state of the object; for a delete, its last state with the revision of the deletion. */
  readonly entry: Entry;
  readonly previous: Entry | undefined;
  /** The decoded value of the entry, only while a put is delivered, because it is larger than the entry. */
  decoded?: JsonObject | undefined;
  /** Encodings of this event, shared by all watchers. */
  readonly memo: Memo;
}

/**
 * The result of a delivery: the event was sent; the watcher does not want the event; or the watcher can accept no more
 * events for now, and calls `HistoryWatch.resume` when it can.
 */
export type Delivery = "sent" | "skipped" | "full";

export interface HistoryWatcher {
  deliver(event: CacheEvent): Delivery;
  /**
   * Called if an entry was decrypted otherwise than before, without a change of the object. Absent if the watcher need
   * not know, because it reports only changes.
   */
  replaced?(entry: Entry): void;
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

/** The watchers of one prefix, in the order in which they have started. */
interface Group {
  readonly prefix: string;
  readonly cursors: Set<Cursor>;
  /** Sequence number of the newest event under the prefix. */
  newest: number;
  /** Whether some of the watchers have to receive events in a later turn. */
  isQueued: boolean;
  /** The watchers that the current pass over the group has not visited. */
  pass: Iterator<Cursor> | undefined;
  /** Whether an event has been added since the current pass began, so that another pass is needed. */
  needsPass: boolean;
}

interface Cursor {
  readonly follower: HistoryWatcher;
  readonly group: Group;
  /** Changes up to this revision are not delivered, even if they happen after the watcher started. */
  readonly afterRevision: number;
  /** Sequence number of the next event to deliver. */
  next: number;
  isBlocked: boolean;
  isStopped: boolean;
}

interface HistoryOptions {
  readonly clock: Clock;
  /** The history contains only changes after this revision. */
  readonly baseRevision: number;
  /** As setImmediate. Without it, every watcher receives an event at once. */
  readonly nextTurn?: ((callback: () => void) => void) | undefined;
}

export class History {
  readonly #clock: Clock;
  readonly #nextTurn: HistoryOptions["nextTurn"];
  #events: CacheEvent[] = [];
  #times: number[] = [];
  /** Sequence number of the oldest event that is kept. */
  #first = 0;
  /** Number of dropped events that are still at the front of the arrays, from which they are removed in bulk. */
  #forgotten = 0;
  #bytes = 0;
  /** The history contains only changes after this revision. */
  #baseRevision: number;
  readonly #groups = new Map<string, Group>();
  /** The groups with watchers that have to receive events in a later turn. */
  readonly #queue: Group[] = [];

  constructor({ clock, baseRevision, nextTurn }: HistoryOptions) {
    this.#clock = clock;
    this.#baseRevision = baseRevision;
    this.#nextTurn = nextTurn;
  }

  get baseRevision(): number {
    return this.#baseRevision;
  }

  append(event: CacheEvent): void {
    this.#events.push(event);
    this.#times.push(this.#clock.monotonic());
    this.#bytes += event.entry.item.length;
    this.#trim();
    this.#deliverNewest(event.entry.key);
    this.#events.at(-1 - ENCODINGS_KEPT)?.memo.clear();
  }

  /** Watches changes after the revision. Returns undefined if the history does not reach back to the revision. */
  follow(prefix: string, afterRevision: number, follower: HistoryWatcher): HistoryWatch | undefined {
    if (afterRevision < this.#baseRevision) return undefined;
    const group = this.#groupOf(prefix);
    const cursor: Cursor = {
      follower,
      group,
      afterRevision,
      next: this.#sequenceAfter(afterRevision),
      isBlocked: false,
      isStopped: false,
    };
    group.cursors.add(cursor);
    this.#pump(cursor);
    return {
      resume: () => {
        if (!cursor.isBlocked) return;
        cursor.isBlocked = false;
        if (cursor.next < this.#first) this.#drop(cursor);
        else this.#pump(cursor);
      },
      stop: () => this.#remove(cursor),
      isCurrent: () => !cursor.isBlocked && !cursor.isStopped && !isBehind(cursor),
    };
  }

  /** Reports an entry that was decrypted otherwise. Watchers that are behind would then receive its earlier state. */
  replace(entry: Entry): void {
    for (const prefix of prefixesOf(entry.key)) {
      for (const cursor of this.#groups.get(prefix)?.cursors ?? []) {
        const { follower } = cursor;
        if (follower.replaced === undefined) continue;
        if (cursor.isBlocked || isBehind(cursor)) this.#drop(cursor);
        else follower.replaced(entry);
      }
    }
  }

  /** Drops all events and ends every watcher, because the events that the watchers have not received are lost. */
  reset(baseRevision: number): void {
    const watchers = [...this.#groups.values()].flatMap(({ cursors }) => [...cursors]);
    this.#first += this.#events.length - this.#forgotten;
    this.#events = [];
    this.#times = [];
    this.#forgotten = 0;
    this.#bytes = 0;
    this.#baseRevision = baseRevision;
    for (const cursor of watchers) this.#drop(cursor);
  }

  /** Delivers the newest event to the first watchers, those of the shortest prefixes, and queues the others. */
  #deliverNewest(key: string): void {
    const sequence = this.#first + this.#events.length - this.#forgotten - 1;
    const event = this.#events.at(-1)!;
    const turn = newTurn(this.#nextTurn !== undefined);
    for (const prefix of prefixesOf(key)) {
      const group = this.#groups.get(prefix);
      if (group === undefined) continue;
      for (const cursor of group.cursors) {
        if (isOver(turn)) break;
        if (isBehind(cursor)) this.#pump(cursor, turn);
        else deliverNext(cursor, { event, sequence, turn });
      }
      group.newest = sequence;
      if (isOver(turn)) this.#queueGroup(group);
    }
  }

  #queueGroup(group: Group): void {
    group.needsPass = true;
    if (group.isQueued) return;
    group.isQueued = true;
    this.#queue.push(group);
    if (this.#queue.length === 1) this.#nextTurn?.(() => this.#deliverQueued());
  }

  /** Delivers to the watchers of the queued groups, as many as one turn may take. */
  #deliverQueued(): void {
    const turn = newTurn(true);
    for (let group = this.#queue[0]; group !== undefined && !isOver(turn); group = this.#queue[0]) {
      const next = this.#nextOf(group);
      if (next !== undefined) this.#pump(next, turn);
      else this.#queue.shift();
    }
    if (this.#queue.length > 0) this.#nextTurn?.(() => this.#deliverQueued());
  }

  /** The next watcher of a pass over the group; undefined if all have received all events. */
  #nextOf(group: Group): Cursor | undefined {
    for (;;) {
      const visited = group.pass?.next();
      if (visited?.done === false) return visited.value;
      group.pass = undefined;
      if (!group.needsPass) {
        group.isQueued = false;
        return undefined;
      }
      group.needsPass = false;
      group.pass = group.cursors.values();
    }
  }

  #groupOf(prefix: string): Group {
    let group = this.#groups.get(prefix);
    if (group === undefined) {
      group = { prefix, cursors: new Set(), newest: -1, isQueued: false, pass: undefined, needsPass: false };
      this.#groups.set(prefix, group);
    }
    return group;
  }

  /**
   * Delivers the events under the watcher's prefix and skips the others. The watcher may stop itself or block during
   * delivery. A watcher that is neither blocked nor behind has received all its events, even if the history has since
   * dropped the event at its cursor.
   */
  #pump(cursor: Cursor, turn: Turn = newTurn(false)): void {
    const { group, afterRevision, follower } = cursor;
    turn.visits--;
    while (!cursor.isBlocked && !cursor.isStopped) {
      if (cursor.next < this.#first && isBehind(cursor)) return this.#drop(cursor);
      if (cursor.next < this.#first) cursor.next = this.#first;
      const event = this.#events[cursor.next - this.#first + this.#forgotten];
      if (event === undefined) return;
      cursor.next++;
      if (event.revision <= afterRevision || !isUnder(event.entry.key, group.prefix)) continue;
      countDelivery(cursor, follower.deliver(event), turn);
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
    const { group } = cursor;
    group.cursors.delete(cursor);
    if (group.cursors.size === 0 && this.#groups.get(group.prefix) === group) this.#groups.delete(group.prefix);
  }
}

/**
 * Delivers an event of the watcher's group to a watcher that has received all earlier events of the group. The events in
 * between are not under its prefix, so the watcher need not visit them. The watcher may have started during this
 * delivery, and have received the event then.
 */
function deliverNext(
  cursor: Cursor,
  { event, sequence, turn }: { readonly event: CacheEvent; readonly sequence: number; readonly turn: Turn },
): void {
  turn.visits--;
  if (cursor.isBlocked || cursor.isStopped || cursor.next > sequence) return;
  cursor.next = sequence + 1;
  if (event.revision <= cursor.afterRevision) return;
  countDelivery(cursor, cursor.follower.deliver(event), turn);
}

function countDelivery(cursor: Cursor, delivery: Delivery, turn: Turn): void {
  if (delivery === "full") cursor.isBlocked = true;
  if (delivery !== "skipped") turn.deliveries--;
}

/** How much may still be done in a turn of the event loop. */
interface Turn {
  deliveries: number;
  visits: number;
}

function newTurn(isLimited: boolean): Turn {
  return isLimited
    ? { deliveries: DELIVERIES_AT_ONCE, visits: VISITS_AT_ONCE }
    : { deliveries: Infinity, visits: Infinity };
}

function isOver({ deliveries, visits }: Turn): boolean {
  return deliveries <= 0 || visits <= 0;
}

/** Whether the watcher has to receive events of its group that others have received. */
function isBehind({ next, group }: Cursor): boolean {
  return next <= group.newest;
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

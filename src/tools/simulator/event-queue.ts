/**
 * The pending events of a simulation, ordered by time and then by the order in which they were added. It is a binary
 * heap, because a cluster has hundreds of pending timers, and almost every request adds and cancels some.
 */
import type { Cancel } from "../../base/clock.ts";

interface PendingEvent {
  readonly at: number;
  /** Undefined after the event was canceled. */
  readonly callback: (() => void) | undefined;
}

interface Entry extends PendingEvent {
  readonly sequence: number;
  callback: (() => void) | undefined;
  isQueued: boolean;
}

/** Canceled events stay in the heap until it has this many entries and half of them are canceled. */
const COMPACT_ENTRIES_MIN = 64;

export class EventQueue {
  #heap: Entry[] = [];
  #sequence = 0;
  #canceled = 0;

  add(at: number, callback: () => void): Cancel {
    const entry: Entry = { at, sequence: this.#sequence++, callback, isQueued: true };
    this.#heap.push(entry);
    this.#rise(this.#heap.length - 1);
    return () => this.#cancel(entry);
  }

  /** The next event, which stays in the queue; undefined if none is left. */
  peek(): PendingEvent | undefined {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined || first.callback !== undefined) return first;
      this.#removeFirst();
      this.#canceled--;
    }
  }

  /** Removes the next event. */
  take(): PendingEvent | undefined {
    const first = this.peek();
    if (first !== undefined) this.#removeFirst();
    return first;
  }

  #cancel(entry: Entry): void {
    if (!entry.isQueued || entry.callback === undefined) return;
    entry.callback = undefined;
    this.#canceled++;
    if (this.#heap.length < COMPACT_ENTRIES_MIN || this.#canceled * 2 < this.#heap.length) return;
    // A sorted array is a heap.
    this.#heap = this.#heap.filter(({ callback }) => callback !== undefined).toSorted(compare);
    this.#canceled = 0;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return;
    first.isQueued = false;
    if (first === last) return;
    heap[0] = last;
    this.#sink(last);
  }

  #rise(from: number): void {
    const heap = this.#heap;
    const entry = heap[from];
    if (entry === undefined) return;
    let index = from;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || compare(parent, entry) < 0) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = entry;
  }

  /** Moves the entry at the top down to its place. */
  #sink(entry: Entry): void {
    const heap = this.#heap;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      if (left === undefined) break;
      const right = heap[2 * index + 2];
      const isRight = right !== undefined && compare(right, left) < 0;
      const child = isRight ? right : left;
      if (compare(entry, child) < 0) break;
      heap[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    heap[index] = entry;
  }
}

function compare(left: Entry, right: Entry): number {
  return left.at - right.at || left.sequence - right.sequence;
}

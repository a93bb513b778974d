/**
 * The seats of one priority level and the queues of requests that wait for them. Fair queuing selects the next request.
 * Every queue has a virtual time at which its next request would start if all queues advanced at the same pace; the
 * request with the earliest virtual end is next.
 */
import { must } from "../../base/assert.ts";
import type { Queuing } from "./priority-level.ts";
import { SeatDemand } from "./seat-demand.ts";

/** Counts of one FlowSchema, for metrics only. */
export interface FlowCounts {
  executing: number;
  executingSeats: number;
  waiting: number;
  waitingSeats: number;
}

export interface Entrant {
  readonly seats: number;
  /** The queues in which the request may wait (the hand of its flow); ignored if the level has no queues. */
  readonly hand: readonly number[];
  readonly counts: FlowCounts;
  /** True if the request gets its seats at once, even beyond the limit. */
  readonly isUrgent: boolean;
}

export interface QueuePlace extends Entrant {
  readonly queue: Queue | undefined;
  /** The virtual time at which the request arrived. */
  readonly arrivalR: number;
  state: "waiting" | "executing" | "over";
  startedMs: number;
  /** Called when the request gets its seats. */
  onTurn: (() => void) | undefined;
}

type QueueRejection = "concurrency-limit" | "queue-full";

interface Queue {
  readonly index: number;
  /** The waiting requests; created when the first request waits. */
  waiting: Set<QueuePlace> | undefined;
  waitingSeats: number;
  executing: number;
  executingSeats: number;
  /** The virtual start time of the next request of this queue. */
  nextStartR: number;
}

/** Initial estimate of the duration of a request, from which its virtual end is computed. */
const SERVICE_MS = 3;
// Maximum number of waiting requests. DIFFERS: kube-apiserver limits them only by queues × queueLengthLimit, which may
// be configured to billions.
const WAITING_MAX = 10_000;

/** Maximum number of idle queues that are kept, because keeping them is cheaper than creating them again. */
const IDLE_QUEUES_MAX = 1_000;

export class QueueSet {
  readonly demand: SeatDemand;
  #isExempt = false;
  #queuing: Queuing | undefined;
  #limit = 0;
  /** Queues in use and some idle queues. The state of an idle queue may be dropped. */
  readonly #queues = new Map<number, Queue>();
  #activeQueues = 0;
  #entered = 0;
  #lastIndex = 0;
  #waiting = 0;
  #waitingSeats = 0;
  #executing = 0;
  #seatsInUse = 0;
  /** The seats in use by requests that were assigned to a queue, whether or not they waited in it. */
  #queuedSeatsInUse = 0;
  /** The current virtual time: the seat-milliseconds that each non-empty queue has been granted. */
  #currentR = 0;
  #syncedMs: number;

  constructor(nowMs: number) {
    this.demand = new SeatDemand(nowMs);
    this.#syncedMs = nowMs;
  }

  get isIdle(): boolean {
    return this.#waiting === 0 && this.#executing === 0;
  }

  get limit(): number {
    return this.#limit;
  }

  configure({ isExempt, queuing }: { readonly isExempt: boolean; readonly queuing: Queuing | undefined }): void {
    this.#isExempt = isExempt;
    this.#queuing = queuing;
  }

  setLimit(limit: number, nowMs: number): void {
    this.#sync(nowMs);
    this.#limit = limit;
    this.#dispatch(nowMs);
  }

  start(entrant: Entrant, nowMs: number): QueuePlace | QueueRejection {
    this.#sync(nowMs);
    const queuing = entrant.isUrgent ? undefined : this.#queuing;
    if (queuing === undefined) {
      if (!entrant.isUrgent && !this.#hasRoom(entrant.seats)) return "concurrency-limit";
      return this.#enter(entrant, undefined, nowMs);
    }
    const queue = this.#choose(entrant.hand);
    if (isIdle(queue)) queue.nextStartR = this.#currentR;
    if (this.#waiting === 0 && this.#seatsInUse < this.#limit && this.#hasRoom(entrant.seats)) {
      const place = this.#enter(entrant, queue, nowMs);
      queue.nextStartR += entrant.seats * SERVICE_MS;
      return place;
    }
    // DIFFERS: in kube-apiserver, a queue may exceed its limit while the free seats are too few for the next request.
    if ((queue.waiting?.size ?? 0) >= queuing.queueLengthLimit || this.#waiting >= WAITING_MAX) {
      if (isIdle(queue)) this.#queues.delete(queue.index);
      return "queue-full";
    }
    const place = this.#wait(entrant, queue, nowMs);
    this.#dispatch(nowMs);
    return place;
  }

  finish(place: QueuePlace, nowMs: number): void {
    this.#sync(nowMs);
    const { queue, seats, counts } = place;
    place.state = "over";
    this.#executing--;
    this.#seatsInUse -= seats;
    counts.executing--;
    counts.executingSeats -= seats;
    if (queue !== undefined) {
      queue.executing--;
      queue.executingSeats -= seats;
      this.#queuedSeatsInUse -= seats;
      queue.nextStartR -= seats * (SERVICE_MS - (nowMs - place.startedMs));
      boundStart(queue);
      this.#release(queue);
    }
    this.demand.set(this.#seatsInUse + this.#waitingSeats, nowMs);
    if (this.#waiting > 0) this.#dispatch(nowMs);
  }

  /** Removes a waiting request that was canceled or has timed out. */
  leave(place: QueuePlace, nowMs: number): void {
    this.#sync(nowMs);
    const queue = this.#unqueue(place);
    place.state = "over";
    boundStart(queue);
    this.#release(queue);
    this.demand.set(this.#seatsInUse + this.#waitingSeats, nowMs);
    // The removed request may have needed many seats and blocked other requests.
    this.#dispatch(nowMs);
  }

  #sync(nowMs: number): void {
    const elapsedMs = nowMs - this.#syncedMs;
    this.#syncedMs = nowMs;
    if (this.#activeQueues === 0 || elapsedMs <= 0) return;
    const asked = this.#queuedSeatsInUse + this.#waitingSeats;
    this.#currentR += (elapsedMs * Math.min(asked, this.#limit)) / this.#activeQueues;
  }

  #hasRoom(seats: number): boolean {
    if (this.#isExempt) return true;
    if (seats > this.#limit) return this.#executing === 0;
    return this.#seatsInUse + seats <= this.#limit;
  }

  /**
   * The queue of the hand with the least work ahead. Starts with a different queue each time, so that equal queues are
   * used evenly.
   */
  #choose(hand: readonly number[]): Queue {
    const offset = this.#entered++ % hand.length;
    let best = hand[offset]!;
    if (this.#waiting > 0) {
      let least = Infinity;
      for (let dealt = 0; dealt < hand.length; dealt++) {
        const index = hand[(offset + dealt) % hand.length]!;
        const seats = this.#queues.get(index)?.waitingSeats ?? 0;
        if (seats < least) [least, best] = [seats, index];
      }
    }
    return this.#queues.get(best) ?? this.#addQueue(best);
  }

  #addQueue(index: number): Queue {
    const queue: Queue = {
      index,
      waiting: undefined,
      waitingSeats: 0,
      executing: 0,
      executingSeats: 0,
      nextStartR: 0,
    };
    this.#queues.set(index, queue);
    return queue;
  }

  #enter(entrant: Entrant, queue: Queue | undefined, nowMs: number): QueuePlace {
    const place = this.#place(entrant, queue);
    if (queue !== undefined && isIdle(queue)) this.#activeQueues++;
    this.#seat(place, nowMs);
    return place;
  }

  #place({ seats, hand, counts, isUrgent }: Entrant, queue: Queue | undefined): QueuePlace {
    const arrivalR = this.#currentR;
    return { seats, hand, counts, isUrgent, queue, arrivalR, state: "waiting", startedMs: 0, onTurn: undefined };
  }

  #seat(place: QueuePlace, nowMs: number): void {
    const { queue, seats, counts } = place;
    place.state = "executing";
    place.startedMs = nowMs;
    this.#executing++;
    this.#seatsInUse += seats;
    counts.executing++;
    counts.executingSeats += seats;
    if (queue !== undefined) {
      queue.executing++;
      queue.executingSeats += seats;
      this.#queuedSeatsInUse += seats;
    }
    this.demand.set(this.#seatsInUse + this.#waitingSeats, nowMs);
  }

  #wait(entrant: Entrant, queue: Queue, nowMs: number): QueuePlace {
    const place = this.#place(entrant, queue);
    const { seats, counts } = place;
    if (isIdle(queue)) this.#activeQueues++;
    queue.waiting ??= new Set();
    queue.waiting.add(place);
    queue.waitingSeats += seats;
    this.#waiting++;
    this.#waitingSeats += seats;
    counts.waiting++;
    counts.waitingSeats += seats;
    boundStart(queue);
    this.demand.set(this.#seatsInUse + this.#waitingSeats, nowMs);
    return place;
  }

  /** Removes the request from its queue, and returns the queue. */
  #unqueue(place: QueuePlace): Queue {
    const { seats, counts } = place;
    const queue = must(place.queue, "a request that waits has a queue");
    queue.waiting?.delete(place);
    queue.waitingSeats -= seats;
    this.#waiting--;
    this.#waitingSeats -= seats;
    counts.waiting--;
    counts.waitingSeats -= seats;
    return queue;
  }

  #dispatch(nowMs: number): void {
    while (this.#waiting > 0 && this.#seatsInUse < this.#limit) {
      const place = this.#next();
      if (!this.#hasRoom(place.seats)) return;
      const queue = this.#unqueue(place);
      this.#lastIndex = queue.index;
      this.#seat(place, nowMs);
      queue.nextStartR += place.seats * SERVICE_MS;
      boundStart(queue);
      place.onTurn?.();
    }
  }

  /**
   * The waiting request with the earliest virtual end. Of several, the one whose queue follows the last served queue.
   */
  #next(): QueuePlace {
    const queues = this.#queuing?.queues ?? 1;
    let [best, earliest, distance]: [QueuePlace | undefined, number, number] = [undefined, Infinity, Infinity];
    for (const queue of this.#queues.values()) {
      const oldest = oldestOf(queue);
      if (oldest === undefined) continue;
      const end = queue.nextStartR + oldest.seats * SERVICE_MS;
      const steps = (((queue.index - this.#lastIndex - 1) % queues) + queues) % queues;
      if (end < earliest || (end === earliest && steps < distance)) [best, earliest, distance] = [oldest, end, steps];
    }
    return must(best, "a request waits");
  }

  #release(queue: Queue): void {
    if (!isIdle(queue)) return;
    this.#activeQueues--;
    if (this.#queues.size > IDLE_QUEUES_MAX) this.#queues.delete(queue.index);
  }
}

function isIdle({ executing, waiting }: Queue): boolean {
  return executing === 0 && (waiting === undefined || waiting.size === 0);
}

function oldestOf({ waiting }: Queue): QueuePlace | undefined {
  if (waiting === undefined || waiting.size === 0) return undefined;
  for (const place of waiting) return place;
  return undefined;
}

/**
 * Moves the virtual start of the queue to the arrival of its first request, if the virtual start is earlier. Otherwise
 * an idle queue could save up its share.
 */
function boundStart(queue: Queue): void {
  const oldest = oldestOf(queue);
  if (oldest !== undefined && queue.nextStartR < oldest.arrivalR) queue.nextStartR = oldest.arrivalR;
}

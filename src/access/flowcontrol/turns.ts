/**
 * Schedules the processing of request bodies over turns (iterations) of the event loop. Decoding, admission and
 * encoding mostly run without interruption, so many requests that arrive together would block the event loop for all
 * other clients, including health checks. Therefore requests are processed one by one, alternating between users, and
 * after some time the event loop continues. Requests that are expected to take long (heavy requests) wait separately,
 * so that the other requests get at least half of the time.
 */
import type { Clock } from "../../base/clock.ts";
import { LruMap } from "../../base/lru-map.ts";
import { badRequest, StatusError, tooManyRequests } from "../../meta/status-error.ts";

/** As setImmediate: the callbacks run in the next turn of the event loop, one after the other. */
type NextTurn = (callback: () => void) => void;

/** Maximum duration of the work in one turn of the event loop. */
const TURN_MS = 10;
/**
 * After longer work, waiting requests pause for this share of its duration, up to the maximum, so that new clients can
 * connect: accepting a connection takes several turns.
 */
const REST_SHARE = 0.2;
const REST_MS_MAX = 200;
/** Heavy requests pause for the full duration of the previous work, up to this maximum. */
const HEAVY_REST_MS_MAX = 1_000;
/** Maximum number of callbacks that are scheduled at the same time. */
const CALLS_MAX = 32;

/** Requests with a body of at least this size are heavy. */
const HEAVY_BYTES = 64 * 1024;
/**
 * After work of at least this duration, all requests of the same user are heavy for a while, because a small request
 * can cause long work too.
 */
const LONG_MS = 50;
const LONG_REMEMBERED_MS_MAX = 10_000;
const USERS_REMEMBERED_MAX = 1_000;
/** Maximum numbers of waiting heavy requests, because they keep their seats and hold their bodies in memory. */
const HEAVY_OF_ONE_USER_MAX = 64;
const HEAVY_MAX = 256;

type TurnClock = Pick<Clock, "monotonic" | "after">;

interface StartedWork {
  readonly user: string;
  readonly atMs: number;
  /** True if no other work runs until the next callback, so that the duration can be measured. */
  readonly isAlone: boolean;
}

export class Turns {
  readonly #clock: TurnClock;
  readonly #nextTurn: NextTurn;
  readonly #light = new Lane();
  readonly #heavy = new Lane();
  readonly #longUntilMs = new LruMap<number>(USERS_REMEMBERED_MAX);
  /** The number of scheduled callbacks that have not run yet. If there are any, a request has just been processed. */
  #calls = 0;
  #turn = 0;
  #turnBeganMs = 0;
  /** The request that was resumed last; undefined after its duration has been measured. */
  #wentOn: StartedWork | undefined;
  #wasHeavy = false;
  #restsUntilMs = 0;
  #heavyRestsUntilMs = 0;
  #isWakeAsked = false;

  constructor(clock: TurnClock, nextTurn: NextTurn) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
  }

  /**
   * Returns undefined if the caller may continue at once, otherwise a promise for its turn. The promise rejects with a
   * StatusError if too many requests wait or the client disconnects.
   */
  take(who: string, bytes: number, signal: AbortSignal): Promise<void> | undefined {
    const nowMs = this.#clock.monotonic();
    const isHeavy = bytes >= HEAVY_BYTES || (this.#longUntilMs.get(who) ?? 0) > nowMs;
    if (this.#calls === 0 && !(isHeavy && nowMs < this.#heavyRestsUntilMs)) {
      this.#wentOn = { user: who, atMs: nowMs, isAlone: false };
      this.#wasHeavy = isHeavy;
      return this.#ask(nowMs);
    }
    if (isHeavy && this.#isFull(who)) return Promise.reject(tooManyWait());
    const turn = waitIn(isHeavy ? this.#heavy : this.#light, who, signal);
    this.#askEnough(nowMs);
    return turn;
  }

  /** Throws if a body of this size would be rejected because too many requests wait. Called before it is read. */
  rejectTooMany(who: string, bytes: number): void {
    if (bytes >= HEAVY_BYTES && this.#isFull(who)) throw tooManyWait();
  }

  #isFull(who: string): boolean {
    return this.#heavy.size >= HEAVY_MAX || this.#heavy.sizeOf(who) >= HEAVY_OF_ONE_USER_MAX;
  }

  #askEnough(nowMs: number): void {
    const heavyRestMs = this.#heavyRestsUntilMs - nowMs;
    const ready = this.#light.size + (heavyRestMs > 0 ? 0 : this.#heavy.size);
    if (this.#calls < Math.min(ready, CALLS_MAX)) this.#ask(nowMs);
    if (heavyRestMs <= 0 || this.#heavy.size === 0 || this.#isWakeAsked) return;
    this.#isWakeAsked = true;
    this.#clock.after(heavyRestMs, () => {
      this.#isWakeAsked = false;
      this.#askEnough(this.#clock.monotonic());
    });
  }

  #ask(nowMs: number): undefined {
    const askedIn = this.#turn;
    this.#calls++;
    const called = (): void => this.#called(askedIn);
    const restMs = this.#restsUntilMs - nowMs;
    if (restMs > 0) return void this.#clock.after(restMs, called);
    this.#nextTurn(called);
    this.#nextTurn(() => this.#measure(this.#clock.monotonic()));
  }

  /** Runs in a new callback. The work of the previous callback has ended by now, unless it awaits something. */
  #called(askedIn: number): void {
    this.#calls--;
    const nowMs = this.#clock.monotonic();
    this.#measure(nowMs);
    if (askedIn === this.#turn) {
      this.#turn++;
      this.#turnBeganMs = nowMs;
    }
    const isFree = nowMs - this.#turnBeganMs < TURN_MS && nowMs >= this.#restsUntilMs;
    const next = isFree ? this.#next(nowMs) : undefined;
    if (next === undefined) return this.#askEnough(nowMs);
    if (this.#calls === 0) this.#ask(nowMs);
    else this.#askEnough(nowMs);
    this.#wentOn = { user: next.who, atMs: nowMs, isAlone: true };
    next.goOn();
  }

  #measure(nowMs: number): void {
    const wentOn = this.#wentOn;
    this.#wentOn = undefined;
    const workedMs = nowMs - (wentOn?.atMs ?? nowMs);
    if (wentOn === undefined || workedMs <= TURN_MS) return;
    this.#restsUntilMs = nowMs + Math.min(workedMs * REST_SHARE, REST_MS_MAX);
    this.#heavyRestsUntilMs = nowMs + Math.min(workedMs, HEAVY_REST_MS_MAX);
    if (wentOn.isAlone && workedMs >= LONG_MS)
      this.#longUntilMs.set(wentOn.user, nowMs + Math.min(workedMs * 10, LONG_REMEMBERED_MS_MAX));
  }

  /** The next request. Heavy and light requests alternate if both are waiting. */
  #next(nowMs: number): Waiting | undefined {
    const mayBeHeavy = this.#heavy.size > 0 && nowMs >= this.#heavyRestsUntilMs;
    this.#wasHeavy = mayBeHeavy && (this.#light.size === 0 || !this.#wasHeavy);
    return (this.#wasHeavy ? this.#heavy : this.#light).next();
  }
}

function tooManyWait(): StatusError {
  return tooManyRequests("Too many requests, please try again later.", 1);
}

function waitIn(lane: Lane, who: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(cancellationError(signal));
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      lane.remove(waiting);
      reject(cancellationError(signal));
    };
    const resume = (): void => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    const waiting: Waiting = { who, goOn: resume };
    signal.addEventListener("abort", onAbort);
    lane.add(waiting);
  });
}

interface Waiting {
  readonly who: string;
  readonly goOn: () => void;
}

/** A list of waiting requests that alternates between users. */
class Lane {
  readonly #byUser = new Map<string, Set<Waiting>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(who: string): number {
    return this.#byUser.get(who)?.size ?? 0;
  }

  add(waiting: Waiting): void {
    const others = this.#byUser.get(waiting.who);
    if (others === undefined) this.#byUser.set(waiting.who, new Set([waiting]));
    else others.add(waiting);
    this.#size++;
  }

  remove(waiting: Waiting): void {
    const { who } = waiting;
    const own = this.#byUser.get(who);
    if (own?.delete(waiting) !== true) return;
    this.#size--;
    if (own.size === 0) this.#byUser.delete(who);
  }

  next(): Waiting | undefined {
    for (const [who, own] of this.#byUser) {
      for (const waiting of own) {
        this.remove(waiting);
        this.#byUser.delete(who);
        if (own.size > 0) this.#byUser.set(who, own);
        return waiting;
      }
    }
    return undefined;
  }
}

/**
 * The error of a canceled request: the StatusError of its deadline, or an error that says that the client disconnected.
 */
function cancellationError({ reason }: AbortSignal): StatusError {
  return reason instanceof StatusError ? reason : badRequest("the client disconnected before its request was complete");
}

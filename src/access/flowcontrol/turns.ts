/**
 * What was sent is mostly worked on in one go: decoded, admitted, encoded. Of many that arrive together each would follow
 * the other at once, and nobody else, health checks included, would be heard before the last is done. So they go on one
 * by one, of one user after the other, and when that has taken a while the event loop comes round first. What is expected
 * to take long waits apart from the others: at least half of the time is theirs.
 */
import type { Clock } from "../../base/clock.ts";
import { LruMap } from "../../base/lru-map.ts";
import { badRequest, StatusError, tooManyRequests } from "../../meta/status-error.ts";

/** As setImmediate: what is asked for now is called when the event loop comes round, one after the other. */
type NextTurn = (callback: () => void) => void;

/** After so much work the loop has to come round. */
const TURN_MS = 10;
/**
 * Who took longer makes the others behind it wait for a part of that time, and no longer than this. Whoever is not among
 * them needs the loop more than once: to greet a new client alone takes several rounds.
 */
const REST_SHARE = 0.2;
const REST_MS_MAX = 200;
/** What is heavy waits for as long as that took, and no longer than this. */
const HEAVY_REST_MS_MAX = 1_000;
/** Calls that are asked for at the same time. */
const CALLS_MAX = 32;

/** What is as large is expected to take long. */
const HEAVY_BYTES = 64 * 1024;
/** So is what comes from somebody whose last work took so long, for a while: little can be said that changes much. */
const LONG_MS = 50;
const LONG_REMEMBERED_MS_MAX = 10_000;
const USERS_REMEMBERED_MAX = 1_000;
/** Who waits keeps its seat, and what it has sent is held in memory. */
const HEAVY_OF_ONE_USER_MAX = 64;
const HEAVY_MAX = 256;

type TurnClock = Pick<Clock, "monotonic" | "after">;

interface WentOn {
  readonly who: string;
  readonly atMs: number;
  /** Nothing but its work lies between this and the next call. */
  readonly isAlone: boolean;
}

export class Turns {
  readonly #clock: TurnClock;
  readonly #nextTurn: NextTurn;
  readonly #light = new Lane();
  readonly #heavy = new Lane();
  readonly #longUntilMs = new LruMap<number>(USERS_REMEMBERED_MAX);
  /** Asked for and not yet made; while there is one, somebody has just gone on. */
  #calls = 0;
  #turn = 0;
  #turnBeganMs = 0;
  /** Undefined when it is known how long that took. */
  #wentOn: WentOn | undefined;
  #wasHeavy = false;
  #restsUntilMs = 0;
  #heavyRestsUntilMs = 0;
  #isWakeAsked = false;

  constructor(clock: TurnClock, nextTurn: NextTurn) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
  }

  /** Undefined: at once. Rejects with a StatusError when too many wait already, or nobody waits for it any more. */
  take(who: string, bytes: number, signal: AbortSignal): Promise<void> | undefined {
    const nowMs = this.#clock.monotonic();
    const isHeavy = bytes >= HEAVY_BYTES || (this.#longUntilMs.get(who) ?? 0) > nowMs;
    if (this.#calls === 0 && !(isHeavy && nowMs < this.#heavyRestsUntilMs)) {
      this.#wentOn = { who, atMs: nowMs, isAlone: false };
      this.#wasHeavy = isHeavy;
      return this.#ask(nowMs);
    }
    if (isHeavy && this.#isFull(who)) return Promise.reject(tooManyWait());
    const turn = waitIn(isHeavy ? this.#heavy : this.#light, who, signal);
    this.#askEnough(nowMs);
    return turn;
  }

  /** Throws what it would be refused with: nobody need read it to know. */
  refuseTooMany(who: string, bytes: number): void {
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

  /** What went on in the call before is done by now, unless it waits for somebody else. */
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
    this.#wentOn = { who: next.who, atMs: nowMs, isAlone: true };
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
      this.#longUntilMs.set(wentOn.who, nowMs + Math.min(workedMs * 10, LONG_REMEMBERED_MS_MAX));
  }

  /** What is heavy and what is not take turns, as long as there are both. */
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
  if (signal.aborted) return Promise.reject(hasLeft(signal));
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      lane.remove(waiting);
      reject(hasLeft(signal));
    };
    const goOn = (): void => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    const waiting: Waiting = { who, goOn };
    signal.addEventListener("abort", onAbort);
    lane.add(waiting);
  });
}

interface Waiting {
  readonly who: string;
  readonly goOn: () => void;
}

/** Those who wait, of one user after the other. */
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

/** Why nothing is done any more for whoever has waited: what a deadline says, or that nobody hears the answer. */
function hasLeft({ reason }: AbortSignal): StatusError {
  return reason instanceof StatusError ? reason : badRequest("the client left before its request was complete");
}

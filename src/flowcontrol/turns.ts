/**
 * What was sent is mostly worked on in one go: decoded, admitted, encoded. Of many that arrive together each would follow
 * the other at once, and nobody else, health checks included, would be heard before the last is done. So they go on one
 * by one, of one user after the other, and when that has taken a while the event loop comes round first.
 */
import type { Clock } from "../base/clock.ts";
import type { RequestBody } from "../http/message.ts";

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
/** Calls that are asked for at the same time. */
const CALLS_MAX = 32;

type TurnClock = Pick<Clock, "monotonic" | "after">;

export class Turns {
  readonly #clock: TurnClock;
  readonly #nextTurn: NextTurn;
  /** By user; who is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #waitingCount = 0;
  /** Asked for and not yet made; while there is one, somebody has just gone on. */
  #calls = 0;
  #turn = 0;
  #turnBeganMs = 0;
  /** Of the last who went on; undefined when it is known how long that took. */
  #wentOnMs: number | undefined;
  #restsUntilMs = 0;

  constructor(clock: TurnClock, nextTurn: NextTurn) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
  }

  /** Undefined: at once. */
  take(who: string): Promise<void> | undefined {
    if (this.#calls === 0) {
      this.#wentOnMs = this.#clock.monotonic();
      return this.#ask();
    }
    return new Promise((goOn) => {
      const others = this.#waiting.get(who);
      if (others === undefined) this.#waiting.set(who, [goOn]);
      else others.push(goOn);
      this.#waitingCount++;
      this.#askEnough();
    });
  }

  #askEnough(): void {
    if (this.#calls < Math.min(this.#waitingCount, CALLS_MAX)) this.#ask();
  }

  #ask(): undefined {
    const askedIn = this.#turn;
    this.#calls++;
    const called = (): void => this.#called(askedIn);
    const restMs = this.#restsUntilMs - this.#clock.monotonic();
    if (restMs > 0) this.#clock.after(restMs, called);
    else this.#nextTurn(called);
  }

  /** What went on in the call before is done by now, unless it waits for somebody else. */
  #called(askedIn: number): void {
    this.#calls--;
    const nowMs = this.#clock.monotonic();
    this.#restAfterWork(nowMs);
    if (askedIn === this.#turn) {
      this.#turn++;
      this.#turnBeganMs = nowMs;
    }
    const isFree = nowMs - this.#turnBeganMs < TURN_MS && nowMs >= this.#restsUntilMs;
    const goOn = isFree ? this.#next() : undefined;
    if (goOn === undefined) return this.#askEnough();
    if (this.#calls === 0) this.#ask();
    else this.#askEnough();
    this.#wentOnMs = nowMs;
    goOn();
  }

  #restAfterWork(nowMs: number): void {
    const workedMs = nowMs - (this.#wentOnMs ?? nowMs);
    this.#wentOnMs = undefined;
    if (workedMs > TURN_MS) this.#restsUntilMs = nowMs + Math.min(workedMs * REST_SHARE, REST_MS_MAX);
  }

  #next(): (() => void) | undefined {
    for (const [who, waiting] of this.#waiting) {
      const goOn = waiting.shift();
      this.#waitingCount--;
      this.#waiting.delete(who);
      if (waiting.length > 0) this.#waiting.set(who, waiting);
      return goOn;
    }
    return undefined;
  }
}

/** Whoever reads it has a turn then. Rejects when nobody waits for that any more. */
export function inTurn(body: RequestBody, signal: AbortSignal, take: () => Promise<void> | undefined): RequestBody {
  return {
    isEmpty: body.isEmpty,
    stream: () => body.stream(),
    async read(limitBytes) {
      const bytes = await body.read(limitBytes);
      const turn = take();
      if (turn === undefined) return bytes;
      await turn;
      signal.throwIfAborted();
      return bytes;
    },
  };
}

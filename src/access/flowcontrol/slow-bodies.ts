/**
 * Releases the seats of requests whose bodies arrive slowly. Otherwise, clients that send a byte now and then could
 * occupy all seats. The number of such requests is limited, per user and in total, because their partial bodies are
 * held in memory.
 */
import type { Clock } from "../../base/clock.ts";
import type { RequestBody } from "../../serving/http/message.ts";
import { tooManyRequests } from "../../meta/status-error.ts";

/** A body that arrives within this time is not slow. */
const SLOW_MS = 100;
const OF_ONE_USER_MAX = 40;
const OF_ALL_MAX = 200;

/** The request that reads the body. */
interface WaitingReader {
  readonly user: string;
  /** Releases the seat. */
  leave(): void;
  /** Acquires a seat again. Rejects if no seat becomes free. */
  reacquire(): Promise<void>;
}

export class SlowBodies {
  readonly #clock: Pick<Clock, "after">;
  readonly #nextTurn: (callback: () => void) => void;
  readonly #byUser = new Map<string, number>();
  #count = 0;

  constructor(clock: Pick<Clock, "after">, nextTurn: (callback: () => void) => void) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
  }

  async read(body: RequestBody, limitBytes: number, reader: WaitingReader): Promise<Buffer> {
    const { promise: rejected, reject } = Promise.withResolvers<never>();
    let state: "arriving" | "slow" | "over" = "arriving";
    const judge = (): void => {
      if (state !== "arriving") return;
      if (!this.#add(reader.user)) return reject(tooManySlow());
      state = "slow";
      reader.leave();
    };
    const cancel = this.#clock.after(SLOW_MS, () => this.#whenRead(judge));
    try {
      const bytes = await Promise.race([body.read(limitBytes), rejected]);
      if (this.#isSlow(state)) await reader.reacquire();
      return bytes;
    } finally {
      cancel();
      if (this.#isSlow(state)) this.#remove(reader.user);
      state = "over";
    }
  }

  /**
   * Waits two turns of the event loop before a body counts as slow, so that data that arrived during a long turn is
   * read first.
   */
  #whenRead(judge: () => void): void {
    this.#nextTurn(() => this.#nextTurn(judge));
  }

  /** A function, because the compiler does not see that `state` may have changed. */
  #isSlow(state: string): boolean {
    return state === "slow";
  }

  #add(who: string): boolean {
    const own = this.#byUser.get(who) ?? 0;
    if (own >= OF_ONE_USER_MAX || this.#count >= OF_ALL_MAX) return false;
    this.#byUser.set(who, own + 1);
    this.#count++;
    return true;
  }

  #remove(who: string): void {
    const left = (this.#byUser.get(who) ?? 1) - 1;
    if (left === 0) this.#byUser.delete(who);
    else this.#byUser.set(who, left);
    this.#count--;
  }
}

function tooManySlow(): Error {
  return tooManyRequests("too many requests with incomplete bodies, please try again later", 1);
}

/** The system's time and chance, for those who use the client outside of this project, in Node and in browsers. */
import type { Clock } from "../base/clock.ts";
import type { Random } from "../base/random.ts";

/** Timers are kept in 31 bits, and a longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after(delayMs, callback) {
      const timer = setTimeout(callback, Math.min(delayMs, TIMER_MS_MAX));
      return () => clearTimeout(timer);
    },
  };
}

export function createSystemRandom(): Random {
  return {
    float: () => Math.random(),
    bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
  };
}

/** When whatever had arrived by now has been seen: the end of a connection, for one. Not for browsers. */
export async function afterArrivals(): Promise<void> {
  // The first may come in the middle of a round of arrivals that were collected before.
  for (let turn = 0; turn < 2; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

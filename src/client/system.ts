/** The system's clock and randomness, for users of the client outside of this project, in Node and in browsers. */
import type { Clock } from "../base/clock.ts";
import type { Random } from "../base/random.ts";

/** Timers have 31 bits; a longer one would fire at once. */
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

/**
 * Resolves after all events that have arrived by now have been handled, such as the end of a connection. Not for
 * browsers.
 */
export async function afterArrivals(): Promise<void> {
  // The first turn may be in the middle of a batch of events that were collected before.
  for (let turn = 0; turn < 2; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

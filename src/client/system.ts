/** The system clock and randomness, for programs that use the client in Node or in browsers. */
import type { Clock } from "../base/clock.ts";
import type { Random } from "../base/random.ts";

/** Delays are 31-bit numbers; a timer with a longer delay would fire at once. */
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
 * Resolves after Node has handled all events that have arrived so far, such as the end of a connection. Not for
 * browsers.
 */
export async function afterArrivals(): Promise<void> {
  // The first setImmediate may run in the middle of a batch of events that were collected before this call.
  for (let turn = 0; turn < 2; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

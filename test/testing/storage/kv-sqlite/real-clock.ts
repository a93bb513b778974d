/** The system's time, for tests that cross threads and processes. */
import type { Clock } from "../../../../src/base/clock.ts";

export function createRealClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after(delayMs, callback) {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
  };
}

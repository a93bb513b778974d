/** The system clock, for tests that use threads, processes or a real etcd. */
import type { Clock } from "../../src/base/clock.ts";

export function realClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after: (delayMs, callback) => {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
  };
}

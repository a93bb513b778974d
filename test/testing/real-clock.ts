/** The system's time, for tests that cross threads and processes or talk to a real etcd. */
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

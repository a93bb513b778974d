/** Wall-clock time with microsecond resolution: adds the progress of the monotonic clock to the last millisecond. */
import type { Clock } from "../../base/clock.ts";

/** Maximum difference of the two clocks; beyond it the wall clock is assumed to have been set. */
const APART_MS_MAX = 2;

/** Milliseconds since the epoch, with a fraction. It goes back only if the wall clock was set back. */
export function createMicroClock(clock: Clock): () => number {
  let offsetMs = clock.now() - clock.monotonic();
  return () => {
    const steadyMs = clock.monotonic();
    const wallMs = clock.now();
    if (Math.abs(wallMs - (steadyMs + offsetMs)) > APART_MS_MAX) offsetMs = wallMs - steadyMs;
    return steadyMs + offsetMs;
  };
}

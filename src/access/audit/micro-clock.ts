/** Provides the wall-clock time in microseconds, by adding the progress of the monotonic clock to a start time. */
import type { Clock } from "../../base/clock.ts";

/** If the wall clock differs from the computed time by more than this, it was set, and the start time is corrected. */
const APART_MS_MAX = 2;

/**
 * The returned function returns milliseconds since the epoch, with a fraction. The time decreases only if the wall
 * clock was set back.
 */
export function createMicroClock(clock: Clock): () => number {
  let offsetMs = clock.now() - clock.monotonic();
  return () => {
    const steadyMs = clock.monotonic();
    const wallMs = clock.now();
    if (Math.abs(wallMs - (steadyMs + offsetMs)) > APART_MS_MAX) offsetMs = wallMs - steadyMs;
    return steadyMs + offsetMs;
  };
}

/** Wall-clock time finer than a millisecond: the steady clock tells how far it is past the last full one. */
import type { Clock } from "../../base/clock.ts";

/** So far the two clocks may be apart before the wall clock is believed to have been set. */
const APART_MS_MAX = 2;

/** Milliseconds since the epoch, with a fraction. It goes back only when the wall clock was set back. */
export function createMicroClock(clock: Clock): () => number {
  let offsetMs = clock.now() - clock.monotonic();
  return () => {
    const steadyMs = clock.monotonic();
    const wallMs = clock.now();
    if (Math.abs(wallMs - (steadyMs + offsetMs)) > APART_MS_MAX) offsetMs = wallMs - steadyMs;
    return steadyMs + offsetMs;
  };
}

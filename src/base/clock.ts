/**
 * Time, as everything in this code base sees it. The real clock is made in server/env-node.ts,
 * the virtual one in tools/simulator/world.ts; nothing else may read or wait for time.
 */
export interface Clock {
  /** Wall-clock milliseconds since the epoch: for timestamps people read, never for measuring. */
  now(): number;
  /** Milliseconds that only go forward: for deadlines, ages and expiry. */
  monotonic(): number;
  /** Runs the callback once after the delay. The returned function cancels; calling it late is harmless. */
  after(delayMs: number, callback: () => void): Cancel;
}

export type Cancel = () => void;

/** Resolves after the delay, or as soon as the signal aborts: `true` when the whole delay passed. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const onAbort = (): void => {
      cancel();
      resolve(false);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve(true);
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/**
 * The source of time for all code that the simulator runs. The real clock is made in client/system.ts, the virtual one
 * in tools/simulator/world.ts. Only the files that test/architecture/determinism.ts lists may read or wait for time in
 * another way.
 */
export interface Clock {
  /** Wall-clock milliseconds since the epoch, for timestamps that people read. Not for measuring durations. */
  now(): number;
  /**
   * Monotonic milliseconds, for deadlines, ages and expiry. The clock of a server also counts while its machine is
   * suspended, if the platform can tell for how long; timers do not.
   */
  monotonic(): number;
  /**
   * Runs the callback once after the delay. The returned function cancels the callback; after the callback has run, it
   * does nothing.
   */
  after(delayMs: number, callback: () => void): Cancel;
}

export type Cancel = () => void;

/** Resolves to true after the whole delay, or to false as soon as the signal aborts. */
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

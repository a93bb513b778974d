/** Work that goes on beside requests: each task has a name, runs until it is told to stop, and is waited for. */
import { sleep, type Clock } from "./clock.ts";
import type { Log } from "./log.ts";

export interface BackgroundTask {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

export interface Background {
  stop(): Promise<void>;
}

export function startBackground(tasks: readonly BackgroundTask[], log: Log): Background {
  const stopping = new AbortController();
  const running = tasks.map(async (task) => {
    try {
      await task.run(stopping.signal);
    } catch (thrown) {
      log.error("a background task failed", {
        task: task.name,
        error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown),
      });
    }
  });
  return {
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

/** Conditions of start-up change within milliseconds; asking costs less than telling everybody who might wait. */
const CONDITION_POLL_MS = 5;

/** Resolves when the condition holds or the signal aborts. */
export async function waitUntil(clock: Clock, condition: () => boolean, signal: AbortSignal): Promise<void> {
  while (!condition() && !signal.aborted) await sleep(clock, CONDITION_POLL_MS, signal);
}

/** Resolves to true when the moment comes, to false when the signal aborts first. */
export function whenOrAborted(moment: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const stop = (): void => resolve(false);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    void moment.then(() => {
      signal.removeEventListener("abort", stop);
      resolve(true);
    });
  });
}

/** Does the work now and then at every interval, until the signal aborts. */
export async function repeat(clock: Clock, intervalMs: number, work: () => void, signal: AbortSignal): Promise<void> {
  do work();
  while (await sleep(clock, intervalMs, signal));
}

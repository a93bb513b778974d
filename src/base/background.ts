/** Background tasks of a server. Each has a name and runs until its signal aborts; `stop` waits for all of them. */
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
      log.error("background task failed", {
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

/** Interval at which `waitUntil` checks its condition. Polling is simpler than notifying every waiter. */
const CONDITION_POLL_MS = 5;

/** Resolves when the condition holds or the signal aborts. */
export async function waitUntil(clock: Clock, condition: () => boolean, signal: AbortSignal): Promise<void> {
  while (!condition() && !signal.aborted) await sleep(clock, CONDITION_POLL_MS, signal);
}

/** Resolves to true when the promise resolves, to false when the signal aborts first. */
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

/** Calls `work` immediately and then at every interval, until the signal aborts. */
export async function repeat(clock: Clock, intervalMs: number, work: () => void, signal: AbortSignal): Promise<void> {
  do work();
  while (await sleep(clock, intervalMs, signal));
}

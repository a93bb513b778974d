/** Work that goes on beside requests: each task has a name, runs until it is told to stop, and is waited for. */
import type { Log } from "../base/log.ts";

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
      log.error("a background task failed", { task: task.name, error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) });
    }
  });
  return {
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

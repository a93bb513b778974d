/**
 * Runs workers on a queue of names. After a success, a name is queued again if its work returns a delay; after a
 * failure, it is queued again with backoff.
 */
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import type { WorkQueue } from "../../base/work-queue.ts";

interface QueueWorkOptions {
  readonly queue: WorkQueue;
  readonly workers: number;
  /**
   * Returns the delay before the key is queued again, or undefined if it is not. If it throws, the key is retried with
   * backoff.
   */
  readonly work: (key: string, signal: AbortSignal) => Promise<{ readonly againAfterMs: number } | undefined>;
  readonly log: Log;
  /** Name of the work in log messages. */
  readonly task: string;
}

/** Runs until the signal aborts. Keys that are left are worked on in the next run. */
export function runWorkers({ queue, workers, work, log, task }: QueueWorkOptions, signal: AbortSignal): Promise<void> {
  const workOn = async (key: string): Promise<void> => {
    try {
      const next = await work(key, signal);
      queue.forget(key);
      if (next !== undefined) queue.addAfter(key, next.againAfterMs);
    } catch (thrown) {
      log.debug(`${task} failed, retrying`, { key, why: messageOf(thrown) });
      queue.addRateLimited(key);
    }
  };
  return queue.run(workers, workOn, signal);
}

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

/** Runs until the signal aborts, then closes the queue. */
export async function runWorkers(options: QueueWorkOptions, signal: AbortSignal): Promise<void> {
  const { queue } = options;
  signal.addEventListener("abort", () => queue.close(), { once: true });
  if (signal.aborted) queue.close();
  await Promise.all(Array.from({ length: options.workers }, () => worker(options, signal)));
}

async function worker({ queue, work, log, task }: QueueWorkOptions, signal: AbortSignal): Promise<void> {
  for (let key = await queue.next(); key !== undefined; key = await queue.next()) {
    try {
      const next = await work(key, signal);
      queue.forget(key);
      if (next !== undefined) queue.addAfter(key, next.againAfterMs);
    } catch (thrown) {
      log.debug(`${task} failed, retrying`, { key, why: messageOf(thrown) });
      queue.addRateLimited(key);
    }
    queue.done(key);
  }
}

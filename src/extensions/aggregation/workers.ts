/** Works through a queue of names: again after a while when all is well, sooner and then more and more rarely when not. */
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import type { WorkQueue } from "../../base/work-queue.ts";

interface QueueWorkOptions {
  readonly queue: WorkQueue;
  readonly workers: number;
  /** When to look again, if nothing happens before; undefined: not by itself. What it throws is tried again. */
  readonly work: (key: string, signal: AbortSignal) => Promise<{ readonly againAfterMs: number } | undefined>;
  readonly log: Log;
  /** For the log: what failed. */
  readonly task: string;
}

/** Until the signal aborts. The queue is closed then. */
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
      log.debug(`${task} failed and is tried again`, { key, why: messageOf(thrown) });
      queue.addRateLimited(key);
    }
    queue.done(key);
  }
}

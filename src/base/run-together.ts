/** Runs several parts of one task, so that none of them continues alone after another has failed. */
import { eitherSignal } from "./either-signal.ts";

/**
 * Runs the parts of a task at the same time until the signal aborts. If one part fails or returns early, the others are
 * stopped. Waits for all of them, and rejects if one has failed.
 */
export async function runTogether(
  signal: AbortSignal,
  parts: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  const ended = new AbortController();
  const either = eitherSignal(signal, ended.signal);
  const run = async (part: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    try {
      await part(either);
    } finally {
      ended.abort();
    }
  };
  await allSettled(parts.map(run));
}

/** Waits for all promises, then rejects with the first failure. */
export async function allSettled(promises: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(promises)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

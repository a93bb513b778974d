/** Runs an operation with a time limit. */
import type { Clock } from "./clock.ts";

/**
 * Runs the work with a time limit. After the limit, or when the parent aborts, the signal of the work aborts and the
 * promise rejects, even if the work continues.
 */
export async function within<T>(
  clock: Clock,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  parent?: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const end = (why: string): void => {
    controller.abort();
    reject(new Error(why));
  };
  const onAbort = (): void => end("the operation was aborted");
  const cancel = clock.after(limitMs, () => end(`timed out after ${limitMs} ms`));
  parent?.addEventListener("abort", onAbort, { once: true });
  if (parent?.aborted === true) onAbort();
  try {
    return await Promise.race([ended, work(controller.signal)]);
  } finally {
    cancel();
    parent?.removeEventListener("abort", onAbort);
  }
}

/** The message of anything thrown, for the log. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

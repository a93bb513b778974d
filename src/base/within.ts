import type { Clock } from "./clock.ts";

/**
 * Does the work, but waits for it no longer than this: then, or when the parent aborts, the signal the work was given
 * aborts and the promise rejects, whatever the work does.
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
  const onAbort = (): void => end("it was told to stop");
  const cancel = clock.after(limitMs, () => end(`it was not done within ${limitMs} ms`));
  parent?.addEventListener("abort", onAbort, { once: true });
  if (parent?.aborted === true) onAbort();
  try {
    return await Promise.race([ended, work(controller.signal)]);
  } finally {
    cancel();
    parent?.removeEventListener("abort", onAbort);
  }
}

/** For the log. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

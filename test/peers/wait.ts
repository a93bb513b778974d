/** Repeats a call until its result is accepted, for at most 20 seconds of real time. */
import { setTimeout as pause } from "node:timers/promises";

const LIMIT_MS = 20_000;
const PAUSE_MS = 10;

/** Repeats the call until its result is accepted, and returns all results in order. */
export async function until<T>(ask: () => Promise<T> | T, isAccepted: (answer: T) => boolean): Promise<readonly T[]> {
  const seen: T[] = [];
  const limit = Date.now() + LIMIT_MS;
  for (;;) {
    const response = await ask();
    seen.push(response);
    if (isAccepted(response)) return seen;
    if (Date.now() > limit) throw new Error(`condition not met in time: ${describe(response)}`);
    await pause(PAUSE_MS);
  }
}

/** Repeats the call until its result is accepted, and returns only the accepted result. */
export async function eventually<T>(ask: () => Promise<T> | T, willDo: (answer: T) => boolean): Promise<T> {
  return (await until(ask, willDo)).at(-1)!;
}

function describe(answer: unknown): string {
  const text = JSON.stringify(answer, (_key, value: unknown) => (Buffer.isBuffer(value) ? undefined : value)) ?? "";
  return text.slice(0, 500);
}

import { setTimeout as pause } from "node:timers/promises";

const LIMIT_MS = 20_000;
const PAUSE_MS = 10;

/** Asks until what comes back will do; everything that came back before it is handed over too. */
export async function until<T>(ask: () => Promise<T> | T, willDo: (answer: T) => boolean): Promise<readonly T[]> {
  const seen: T[] = [];
  const limit = Date.now() + LIMIT_MS;
  for (;;) {
    const answer = await ask();
    seen.push(answer);
    if (willDo(answer)) return seen;
    if (Date.now() > limit) throw new Error(`still not so: ${describe(answer)}`);
    await pause(PAUSE_MS);
  }
}

/** The last one, when those before do not matter. */
export async function eventually<T>(ask: () => Promise<T> | T, willDo: (answer: T) => boolean): Promise<T> {
  return (await until(ask, willDo)).at(-1)!;
}

function describe(answer: unknown): string {
  const text = JSON.stringify(answer, (_key, value: unknown) => (Buffer.isBuffer(value) ? undefined : value)) ?? "";
  return text.slice(0, 500);
}

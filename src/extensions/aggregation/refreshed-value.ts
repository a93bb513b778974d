/** Values that come from elsewhere: the last good one is given at once, and asked for again when it has become old. */
import type { Clock } from "../../base/clock.ts";

export interface Refreshed<T> {
  /** With `fetch` undefined nobody is asked. Only who has nothing yet waits; what fails is not asked again at once. */
  get(key: string, fetch: (() => Promise<T | undefined>) | undefined): Promise<T | undefined>;
  /** Forgets all others. */
  retain(keys: ReadonlySet<string>): void;
}

const REFRESH_MS = 60_000;

interface Entry<T> {
  value: T | undefined;
  askedAtMs: number;
  underWay: Promise<void> | undefined;
}

/** `fetch` must not reject. */
export function createRefreshed<T>(clock: Clock): Refreshed<T> {
  const entries = new Map<string, Entry<T>>();

  const ask = (entry: Entry<T>, fetch: () => Promise<T | undefined>): void => {
    entry.askedAtMs = clock.monotonic();
    entry.underWay ??= fetch().then((value) => {
      entry.underWay = undefined;
      if (value !== undefined) entry.value = value;
    });
  };

  return {
    async get(key, fetch) {
      const entry = entries.get(key) ?? { value: undefined, askedAtMs: -Infinity, underWay: undefined };
      entries.set(key, entry);
      const isDue = clock.monotonic() - entry.askedAtMs >= REFRESH_MS;
      if (fetch !== undefined && isDue) ask(entry, fetch);
      if (entry.value === undefined) await entry.underWay;
      return entry.value;
    },
    retain(keys) {
      for (const key of entries.keys()) if (!keys.has(key)) entries.delete(key);
    },
  };
}

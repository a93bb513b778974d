/**
 * Caches values that are fetched from other servers. The last good value is returned at once; if it is old, a new one
 * is fetched in the background.
 */
import type { Clock } from "../../base/clock.ts";

export interface Refreshed<T> {
  /**
   * Returns the value of the key. It waits only for the first fetch of the key. If that fetch fails, it is soon repeated
   * in the background. If `fetch` is undefined, nothing is fetched.
   */
  get(key: string, fetch: (() => Promise<T | undefined>) | undefined): Promise<T | undefined>;
  /** Removes all keys that are not in `keys`. */
  retain(keys: ReadonlySet<string>): void;
}

const REFRESH_MS = 60_000;
/** Minimum time between two fetches while there is no value. */
const RETRY_MS = 1_000;

interface Entry<T> {
  value: T | undefined;
  askedAtMs: number;
  underWay: Promise<void> | undefined;
  /** The first fetch, while it is under way. */
  first: Promise<void> | undefined;
}

/** The `fetch` functions that callers pass must not reject. */
export function createRefreshed<T>(clock: Clock): Refreshed<T> {
  const entries = new Map<string, Entry<T>>();

  const ask = (entry: Entry<T>, fetch: () => Promise<T | undefined>): void => {
    entry.askedAtMs = clock.monotonic();
    entry.underWay ??= fetch().then((value) => {
      entry.underWay = undefined;
      entry.first = undefined;
      if (value !== undefined) entry.value = value;
    });
  };

  return {
    async get(key, fetch) {
      const entry = entries.get(key) ?? {
        value: undefined,
        askedAtMs: -Infinity,
        underWay: undefined,
        first: undefined,
      };
      entries.set(key, entry);
      const isFirst = entry.askedAtMs === -Infinity;
      const intervalMs = entry.value === undefined ? RETRY_MS : REFRESH_MS;
      const isDue = clock.monotonic() - entry.askedAtMs >= intervalMs;
      if (fetch !== undefined && isDue) ask(entry, fetch);
      if (isFirst) entry.first = entry.underWay;
      await entry.first;
      return entry.value;
    },
    retain(keys) {
      for (const key of entries.keys()) if (!keys.has(key)) entries.delete(key);
    },
  };
}

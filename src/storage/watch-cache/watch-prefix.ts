/** Keeps a table of all entries under a prefix current, for code that must not depend on the store. */
import { sleep, type Clock } from "../../base/clock.ts";
import { prefixEnd } from "../kv.ts";
import type { WatchCache } from "./cache.ts";
import type { Entry } from "./entry.ts";
import type { HistoryWatch } from "./history.ts";
import { waitUntil, type BackgroundTask } from "../../base/background.ts";

interface PrefixTable {
  /** Replaces the whole content of the table. */
  reset(entries: readonly Entry[]): void;
  put(entry: Entry): void;
  remove(key: string): void;
}

interface WatchPrefixOptions {
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly prefix: string;
  readonly table: PrefixTable;
}

/** Delay before a watch that could not start is tried again. */
const RETRY_MS = 100;

export function watchPrefix({ cache, clock, prefix, table }: WatchPrefixOptions): BackgroundTask {
  const follow = (onEnd: () => void): HistoryWatch | undefined => {
    table.reset(cache.range(prefix, prefixEnd(prefix)));
    const change = (apply: () => void): void => {
      try {
        apply();
      } catch {
        // A table that throws is reset by a new watch. The error must not disturb the delivery of events to other
        // watchers.
        onEnd();
      }
    };
    return cache.follow(prefix, cache.revision, {
      deliver({ kind, entry }) {
        change(() => (kind === "put" ? table.put(entry) : table.remove(entry.key)));
        return "sent";
      },
      replaced: (entry) => change(() => table.put(entry)),
      fellBehind: onEnd,
    });
  };
  return {
    name: `follow ${prefix}`,
    async run(signal) {
      while (!signal.aborted) {
        await waitUntil(clock, () => cache.state !== "loading", signal);
        if (signal.aborted) return;
        const ended = Promise.withResolvers<void>();
        const stop = (): void => ended.resolve();
        signal.addEventListener("abort", stop, { once: true });
        try {
          const following = follow(stop);
          // A cache that is about to load again starts no watch.
          if (following === undefined) await sleep(clock, RETRY_MS, signal);
          else await ended.promise;
          following?.stop();
        } finally {
          signal.removeEventListener("abort", stop);
        }
      }
    },
  };
}

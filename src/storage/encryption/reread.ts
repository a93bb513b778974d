/**
 * Reads values from the store a second time after the keys have changed, or after a KMS plugin has recovered, so that
 * objects become readable or unreadable without a write.
 */
import type { Kv } from "../kv.ts";
import type { WatchCache } from "../watch-cache/cache.ts";
import type { Entry } from "../watch-cache/entry.ts";

interface RereadOptions {
  readonly kv: Kv;
  readonly cache: WatchCache;
  readonly isDue: (entry: Entry) => boolean;
  readonly signal: AbortSignal;
}

/** Number of values that are read at a time. */
const READS_AT_ONCE = 16;

/** Returns the number of values that were due. Rejects with a `StorageError` if the store fails. */
export async function rereadValues({ kv, cache, isDue, signal }: RereadOptions): Promise<number> {
  const due = cache.entries().filter(isDue);
  const queue = due.values();
  const work = async (): Promise<void> => {
    for (const entry of queue) {
      if (signal.aborted) return;
      const { items } = await kv.range({ start: entry.key });
      cache.replaceReread(entry, items[0]);
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, work));
  return due.length;
}

/**
 * Forgets old history at a steady pace. Several servers, kube-apiservers among them, agree on who does it
 * through one key outside the storage root: whoever moves it compacts to what it said before.
 */
import { sleep, type Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { StorageError, type Kv } from "../storage/kv.ts";
import type { BackgroundTask } from "./background.ts";

const COMPACT_KEY = "compact_rev_key";

export function compactor(options: { kv: Kv; clock: Clock; log: Log; intervalMs: number }): BackgroundTask {
  const { kv, clock, log, intervalMs } = options;
  return {
    name: "compactor",
    async run(signal) {
      if (intervalMs <= 0) return;
      while (await sleep(clock, intervalMs, signal)) {
        try {
          await compactOnce(kv);
        } catch (thrown) {
          if (!(thrown instanceof StorageError)) throw thrown;
          log.warn("old history could not be compacted", { error: thrown.message });
        }
      }
    },
  };
}

/** Compacts to the revision noted one interval ago, and notes the present one, unless somebody else just did. */
async function compactOnce(kv: Kv): Promise<void> {
  const { items, revision } = await kv.range({ start: COMPACT_KEY });
  const noted = items[0];
  const result = await kv.commit({
    kind: "put",
    key: COMPACT_KEY,
    value: Buffer.from(String(revision)),
    expectedRevision: noted?.modRevision ?? 0,
  });
  if (!result.committed || noted === undefined) return;
  const previous = Number(noted.value.toString("latin1"));
  if (Number.isSafeInteger(previous) && previous > 0) await kv.compact(previous);
}

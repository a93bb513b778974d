/**
 * Compacts the store at a fixed interval. As in kube-apiserver, one key outside the storage root elects the server that
 * compacts: the server that updates the key compacts to the revision that the key held before.
 */
import { sleep, type Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { StorageError, type Kv } from "./kv.ts";
import type { BackgroundTask } from "../base/background.ts";

const COMPACT_KEY = "compact_rev_key";

export function compactor(options: { kv: Kv; clock: Clock; log: Log; intervalMs: number }): BackgroundTask {
  const { kv, clock, log, intervalMs } = options;
  return {
    name: "compactor",
    async run(signal) {
      if (intervalMs <= 0) return;
      let seen: Note | undefined;
      while (await sleep(clock, intervalMs, signal)) {
        try {
          const { note, compactTo } = await compactOnce(kv, seen);
          seen = note;
          if (compactTo > 0) await kv.compact(compactTo);
        } catch (thrown) {
          if (!(thrown instanceof StorageError)) throw thrown;
          log.warn("compaction failed", { error: thrown.message });
        }
      }
    },
  };
}

/** The value of the key one interval ago. */
interface Note {
  readonly modRevision: number;
  readonly revision: number;
}

/**
 * Writes the current revision if the key is unchanged since this server read it one interval ago, and then compacts to
 * the revision read at that time. A server that finds another value has lost the election. Comparing with a value that
 * was just read would let every server win, each compacting to a revision that was current a moment ago.
 */
async function compactOnce(kv: Kv, seen: Note | undefined): Promise<{ note: Note | undefined; compactTo: number }> {
  const revision = await kv.currentRevision();
  const value = Buffer.from(String(revision));
  const result = await kv.commit({ kind: "put", key: COMPACT_KEY, value, expectedRevision: seen?.modRevision ?? 0 });
  if (result.committed) return { note: { modRevision: result.revision, revision }, compactTo: seen?.revision ?? 0 };
  const { current } = result;
  if (current === undefined) return { note: undefined, compactTo: 0 };
  const noted = Number(current.value.toString("latin1"));
  return {
    note: { modRevision: current.modRevision, revision: Number.isSafeInteger(noted) ? noted : 0 },
    compactTo: 0,
  };
}

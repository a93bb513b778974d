/**
 * Compacts the store at a fixed interval. As in kube-apiserver, the servers elect the one that compacts through a key
 * outside the storage root: at each interval one server succeeds in updating the key, and that server compacts to the
 * revision that the key contained before.
 */
import { sleep, type Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { StoreEpoch } from "../base/store-epoch.ts";
import { StorageError, type Kv } from "./kv.ts";
import type { BackgroundTask } from "../base/background.ts";

const COMPACT_KEY = "compact_rev_key";

interface CompactorOptions {
  readonly kv: Kv;
  readonly clock: Clock;
  readonly log: Log;
  readonly epoch: StoreEpoch;
  readonly intervalMs: number;
}

export function compactor({ kv, clock, log, epoch, intervalMs }: CompactorOptions): BackgroundTask {
  return {
    name: "compactor",
    mayReturn: intervalMs <= 0,
    async run(signal) {
      if (intervalMs <= 0) return;
      let seen: Note | undefined;
      // A revision of another history must not be compacted: it may be the newest one of this history.
      let seenIn = epoch.current;
      while (await sleep(clock, intervalMs, signal)) {
        try {
          const { current } = epoch;
          const { note, compactTo } = await compactOnce(kv, seenIn === current ? seen : undefined);
          seen = note;
          seenIn = current;
          if (compactTo > 0 && current === epoch.current) await kv.compact(compactTo);
        } catch (thrown) {
          if (!(thrown instanceof StorageError)) throw thrown;
          log.warn("compaction failed", { error: thrown.message });
        }
      }
    },
  };
}

/** The modRevision and the value of the key when this server last read or wrote the key, one interval ago. */
interface Note {
  readonly modRevision: number;
  readonly revision: number;
}

/**
 * Writes the current revision to the key if no other server has written the key since this server read it one interval
 * ago. If the write succeeds, the server compacts to the revision that the key contained before; if it fails, the
 * server has lost the election. The comparison must use the state of one interval ago: if each server compared with a
 * value that it had just read, every server would win and compact to a revision that was current a moment ago.
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

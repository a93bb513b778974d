/**
 * Watches the namespaces that are being deleted, on every server. A new leader then knows how long ago a namespace was
 * deleted and does not wait again, and `evenkeel status` shows why each of these namespaces still exists.
 */
import type { BackgroundTask } from "../../base/background.ts";
import type { Clock } from "../../base/clock.ts";
import { objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { isTerminating } from "../../serving/registry/namespace-lifecycle.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { watchPrefix } from "../../storage/watch-cache/watch-prefix.ts";

interface TerminatingNamespace {
  readonly uid: string;
  /** When this server first saw the deletion, by its monotonic clock. */
  readonly seenAtMs: number;
  readonly entry: Entry;
}

export interface TerminatingNamespaces {
  readonly task: BackgroundTask;
  /** When this server first saw the deletion of the namespace; undefined if it has not seen it yet. */
  seenAtMs(name: string, uid: string): number | undefined;
  /** The namespaces that are being deleted, in the order in which this server has seen their deletions. */
  objects(): Iterable<{ readonly seenAtMs: number; readonly object: JsonObject }>;
}

interface TerminatingNamespacesOptions {
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly storageRoot: string;
}

export function terminatingNamespaces({
  cache,
  clock,
  storageRoot,
}: TerminatingNamespacesOptions): TerminatingNamespaces {
  const prefix = `${storageRoot}namespaces/`;
  const known = new Map<string, TerminatingNamespace>();
  const put = (entry: Entry): void => {
    const name = entry.key.slice(prefix.length);
    if (entry.corrupt !== undefined || !isTerminating(entry)) return void known.delete(name);
    const uid = stringAt(objectAt(parseEntry(entry), "metadata"), "uid");
    const before = known.get(name);
    known.set(name, { uid, seenAtMs: before?.uid === uid ? before.seenAtMs : clock.monotonic(), entry });
  };
  return {
    task: watchPrefix({
      cache,
      clock,
      prefix,
      table: {
        reset(entries) {
          const names = new Set(entries.map(({ key }) => key.slice(prefix.length)));
          for (const name of known.keys()) if (!names.has(name)) known.delete(name);
          entries.forEach(put);
        },
        put,
        remove: (key) => void known.delete(key.slice(prefix.length)),
      },
    }),
    seenAtMs(name, uid) {
      const found = known.get(name);
      return found?.uid === uid ? found.seenAtMs : undefined;
    },
    *objects() {
      for (const { seenAtMs, entry } of known.values()) yield { seenAtMs, object: parseEntry(entry) };
    },
  };
}

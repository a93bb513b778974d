/**
 * A store that stages writes in memory instead of performing them. With it, objects that depend on each other (a
 * namespace, its content, the address of a Service) are prepared by the ordinary verbs and then written together. Reads
 * return staged values in preference to stored ones. Only new keys can be staged.
 */
import { assert } from "../../base/assert.ts";
import type { Guard } from "../../storage/kv.ts";
import type { ObjectStore, WriteResult } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";

export interface StagedWrite {
  readonly key: string;
  readonly value: Buffer;
  /** Checked when the value is written to the real store. */
  readonly guards: readonly Guard[] | undefined;
}

interface StagedStore {
  readonly store: ObjectStore;
  /** All staged writes, oldest first. */
  readonly writes: () => readonly StagedWrite[];
  /** Drops all but the oldest `count` writes. */
  keepFirst(count: number): void;
}

export function createStagedStore(base: ObjectStore): StagedStore {
  const staged = new Map<string, { readonly write: StagedWrite; readonly entry: Entry }>();
  const put = (write: StagedWrite): WriteResult => {
    const { key, value } = write;
    const entry = base.cache.toEntry({ key, value, createRevision: 0, modRevision: 0 });
    staged.set(key, { write, entry });
    return { committed: true, entry };
  };
  return {
    writes: () => [...staged.values()].map(({ write }) => write),
    keepFirst(count) {
      for (const key of [...staged.keys()].slice(count)) staged.delete(key);
    },
    store: {
      ...base,
      get: async (key, freshness) => staged.get(key)?.entry ?? base.get(key, freshness),
      async create(key, value, lease, guards) {
        assert(lease === undefined, "staged values cannot expire");
        const current = staged.get(key)?.entry ?? base.cache.get(key);
        return current === undefined
          ? put({ key, value, guards })
          : { committed: false, current, lostGuard: undefined };
      },
      async replace({ key }, value, _lease, guards) {
        const before = staged.get(key)?.write;
        assert(before !== undefined, "only staged values can be changed before they are stored");
        return put({ key, value, guards: merged(before.guards, guards) });
      },
      async remove({ key }) {
        assert(staged.delete(key), "only staged values can be removed before they are stored");
        return { committed: true, revision: 0 };
      },
    },
  };
}

/**
 * Combines the guards of the creation with those of a change, because the real store will see only a creation. If both
 * have a guard for one key, the newer one counts.
 */
function merged(
  before: readonly Guard[] | undefined,
  after: readonly Guard[] | undefined,
): readonly Guard[] | undefined {
  if (before === undefined || after === undefined) return after ?? before;
  return [...before.filter(({ key }) => !after.some((guard) => guard.key === key)), ...after];
}

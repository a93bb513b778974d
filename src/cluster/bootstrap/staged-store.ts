/**
 * A store that remembers writes instead of making them, so that what depends on each other (a namespace,
 * what lies in it, the address that belongs to it) can be prepared by the ordinary verbs and then be written
 * all at once. Reads see what is staged before what is stored. Only new keys can be staged.
 */
import { assert } from "../../base/assert.ts";
import type { Guard } from "../../storage/kv.ts";
import type { ObjectStore, WriteResult } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";

export interface StagedWrite {
  readonly key: string;
  readonly value: Buffer;
  /** Judged when it is stored. */
  readonly guards: readonly Guard[] | undefined;
}

interface StagedStore {
  readonly store: ObjectStore;
  /** Everything staged so far, oldest first. */
  readonly writes: () => readonly StagedWrite[];
  /** Forgets all but the oldest writes. */
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
        assert(lease === undefined, "nothing staged expires");
        const current = staged.get(key)?.entry ?? base.cache.get(key);
        return current === undefined
          ? put({ key, value, guards })
          : { committed: false, current, lostGuard: undefined };
      },
      async replace({ key }, value, _lease, guards) {
        const before = staged.get(key)?.write;
        assert(before !== undefined, "only what is staged can be changed before it is stored");
        return put({ key, value, guards: merged(before.guards, guards) });
      },
      async remove({ key }) {
        assert(staged.delete(key), "only what is staged can be removed before it is stored");
        return { committed: true, revision: 0 };
      },
    },
  };
}

/** What is stored is still a creation, with all that this depends on; of one key the newer word counts. */
function merged(
  before: readonly Guard[] | undefined,
  after: readonly Guard[] | undefined,
): readonly Guard[] | undefined {
  if (before === undefined || after === undefined) return after ?? before;
  return [...before.filter(({ key }) => !after.some((guard) => guard.key === key)), ...after];
}

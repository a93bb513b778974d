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
  readonly guard: Guard | undefined;
}

export interface StagedStore {
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
      async create(key, value, lease, guard) {
        assert(lease === undefined, "nothing staged expires");
        const current = staged.get(key)?.entry ?? base.cache.get(key);
        return current === undefined ? put({ key, value, guard }) : { committed: false, current, isGuardLost: false };
      },
      async replace({ key }, value, _lease, guard) {
        assert(staged.has(key), "only what is staged can be changed before it is stored");
        return put({ key, value, guard });
      },
      async remove({ key }) {
        assert(staged.delete(key), "only what is staged can be removed before it is stored");
        return { committed: true, revision: 0 };
      },
    },
  };
}

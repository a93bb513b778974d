/**
 * A store that commits the writes of one request only under the condition of the request, which is checked when a write
 * is sent to the store. A request that was checked only when it arrived could write much later, for example after the
 * process was paused.
 */
import { rejectUnlessCommittable, type CommitCondition } from "../../meta/commit-condition.ts";
import { StatusError } from "../../meta/status-error.ts";
import type { Guard } from "../../storage/kv.ts";
import type { ObjectStore, WriteResult } from "../../storage/object-store.ts";

export function conditionalStore(store: ObjectStore, condition: CommitCondition): ObjectStore {
  const check = (): void => rejectUnlessCommittable(condition);
  const guarded = (guards: readonly Guard[] = []): readonly Guard[] =>
    condition.guard === undefined ? guards : [...guards, condition.guard];
  const judged = (result: WriteResult): WriteResult => {
    if (result.committed || result.lostGuard === undefined || result.lostGuard !== condition.guard?.key) return result;
    throw new StatusError("Conflict", `the write is rejected: ${condition.guard.key} has changed since it was decided`);
  };
  return {
    cache: store.cache,
    isOutdated: store.isOutdated,
    rememberObject: store.rememberObject,
    getNow: (key, freshness) => store.getNow(key, freshness),
    get: (key, freshness) => store.get(key, freshness),
    list: (range, freshness, limit) => store.list(range, freshness, limit),
    listAt: (range, revision, limit) => store.listAt(range, revision, limit),
    async create(key, value, lease, guards) {
      check();
      return judged(await store.create(key, value, lease, guarded(guards)));
    },
    async replace(current, value, lease, guards) {
      check();
      return judged(await store.replace(current, value, lease, guarded(guards)));
    },
    async remove(current) {
      check();
      return store.remove(current);
    },
  };
}

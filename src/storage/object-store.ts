/**
 * Reads and writes objects in the store: consistent reads through the watch cache, and writes by compare and swap. It
 * handles keys, bytes and revisions, but no kinds, verbs or validation.
 */
import type { JsonObject } from "../meta/json.ts";
import {
  type Change,
  type CommitResult,
  type Guard,
  type KeyValue,
  type Kv,
  type LeaseId,
  StorageError,
} from "./kv.ts";
import type { WatchCache } from "./watch-cache/cache.ts";
import type { Entry } from "./watch-cache/entry.ts";
import { FUTURE_VERSION_WAIT_MS } from "./watch-cache/cache-limits.ts";

/** How current the result of a read must be. */
export type Freshness =
  | { readonly kind: "newest" }
  | { readonly kind: "any" }
  | { readonly kind: "not-older-than"; readonly revision: number };

export type WriteResult =
  | { readonly committed: true; readonly entry: Entry }
  /**
   * `lostGuard` is the key of the first guard that did not hold; undefined if only the revision of the written key
   * differed.
   */
  | { readonly committed: false; readonly current: Entry | undefined; readonly lostGuard: string | undefined };

export interface ListPage {
  readonly entries: readonly Entry[];
  /** Number of entries in the whole range, even if `entries` contains only some of them. */
  readonly count: number;
  /** The resourceVersion of the list. */
  readonly revision: number;
}

export interface ObjectStore {
  readonly cache: WatchCache;
  get(key: string, freshness: Freshness): Promise<Entry | undefined>;
  /** Lists the entries in [start, end). With a limit, the result contains only the first ones. */
  list(range: KeyRange, freshness: Freshness, limit?: number): Promise<ListPage>;
  /** Lists the entries in [start, end) at a revision. With a limit, the result contains only the first ones. */
  listAt(range: KeyRange, revision: number, limit?: number): Promise<ListPage>;
  /** As `get`, at once. "unknown" if it must wait or read the store. */
  getNow(key: string, freshness: Freshness): Entry | undefined | "unknown";
  /** Whether an object must be written again even if it does not change, because its value is encrypted otherwise. */
  readonly isOutdated: (entry: Entry) => boolean;
  /** Remembers which object these bytes encode, so that they are not parsed when the watch delivers them. */
  readonly rememberObject: (value: Buffer, object: JsonObject) => void;
  create(key: string, value: Buffer, lease?: LeaseId, guards?: readonly Guard[]): Promise<WriteResult>;
  replace(current: Entry, value: Buffer, lease?: LeaseId, guards?: readonly Guard[]): Promise<WriteResult>;
  remove(
    current: Entry,
    guards?: readonly Guard[],
  ): Promise<
    | { readonly committed: true; readonly revision: number }
    | { readonly committed: false; readonly current: Entry | undefined; readonly lostGuard: string | undefined }
  >;
}

export interface KeyRange {
  readonly start: string;
  readonly end: string;
}

type Put = Omit<Extract<Change, { kind: "put" }>, "kind">;

export function createObjectStore(kv: Kv, cache: WatchCache): ObjectStore {
  const put = async (change: Put, { createRevision }: { readonly createRevision: number }): Promise<WriteResult> => {
    const { key, value } = change;
    const written = cache.announceWrite(key, value);
    try {
      const result = await kv.commit({ kind: "put", ...change });
      if (isUndelivered(cache, result)) await cache.untilDelivered(result.revision);
      return writeResult(cache, result, { key, value, createRevision });
    } finally {
      written();
    }
  };
  return {
    cache,
    isOutdated: ({ key, sealing }) => kv.isOutdated?.(key, sealing) === true,
    rememberObject: (value, object) => cache.rememberObject(value, object),
    getNow: (key, { kind }) => (kind === "newest" && cache.isCaughtUp() ? cache.get(key) : "unknown"),
    async get(key, freshness) {
      if (await reach(cache, freshness)) return cache.get(key);
      const { items } = await kv.range({ start: key });
      return toEntry(cache, items[0]);
    },
    async list(range, freshness, limit) {
      if (await reach(cache, freshness)) return cachedPage(cache, { ...range, limit }, cache.revision);
      const { items, count, revision } = await kv.range({ ...range, ...(limit === undefined ? {} : { limit }) });
      return { entries: items.map((item) => cache.toEntry(item)), count, revision };
    },
    async listAt(range, revision, limit) {
      if (revision > cache.revision && !(await cache.waitFor(revision, FUTURE_VERSION_WAIT_MS)))
        throw futureRevision(cache, revision);
      if (cache.isUnchangedSince(range.start, revision)) return cachedPage(cache, { ...range, limit }, revision);
      const { items, count } = await kv.range({ ...range, revision, ...(limit === undefined ? {} : { limit }) });
      return { entries: items.map((item) => cache.toEntry(item)), count, revision };
    },
    create: (key, value, lease, guards) =>
      put({ key, value, expectedRevision: 0, ...given(lease, guards) }, { createRevision: 0 }),
    replace: ({ key, createRevision, modRevision }, value, lease, guards) =>
      put({ key, value, expectedRevision: modRevision, ...given(lease, guards) }, { createRevision }),
    async remove({ key, modRevision: expectedRevision }, guards) {
      const result = await kv.commit({
        kind: "delete",
        key,
        expectedRevision,
        ...(guards !== undefined && { guards }),
      });
      if (isUndelivered(cache, result)) await cache.untilDelivered(result.revision);
      if (result.committed) return result;
      return { committed: false, current: toEntry(cache, result.current), lostGuard: result.lostGuard };
    },
  };
}

/** The optional members of a change. */
function given(lease: LeaseId | undefined, guards: readonly Guard[] | undefined): Pick<Put, "lease" | "guards"> {
  return { ...(lease !== undefined && { lease }), ...(guards !== undefined && { guards }) };
}

/** Costs as much as its entries, however many others precede or follow them. */
function cachedPage(
  cache: WatchCache,
  { start, end, limit }: KeyRange & { readonly limit: number | undefined },
  revision: number,
): ListPage {
  return { entries: cache.range(start, end, limit), count: cache.count(start, end), revision };
}

/** Waits until the cache is as current as requested. Returns false if the caller must read the store instead. */
async function reach(cache: WatchCache, freshness: Freshness): Promise<boolean> {
  if (cache.state === "loading") throw new StorageError("unavailable", "the watch cache is still loading");
  switch (freshness.kind) {
    case "any":
      return true;
    case "newest":
      return cache.catchUp();
    case "not-older-than":
      if (await cache.waitFor(freshness.revision, FUTURE_VERSION_WAIT_MS)) return true;
      throw futureRevision(cache, freshness.revision);
  }
}

function futureRevision(cache: WatchCache, revision: number): StorageError {
  return new StorageError("revision-future", `Too large resource version: ${revision}, current: ${cache.revision}`, {
    revision: cache.revision,
  });
}

/**
 * True if the watch has not delivered a committed change yet. Only etcd acknowledges a commit before its watch delivers
 * the change.
 */
function isUndelivered(cache: WatchCache, result: CommitResult): boolean {
  return result.committed && result.revision > cache.revision;
}

function writeResult(
  cache: WatchCache,
  result: CommitResult,
  written: { key: string; value: Buffer; createRevision: number },
): WriteResult {
  if (!result.committed)
    return { committed: false, current: toEntry(cache, result.current), lostGuard: result.lostGuard };
  const { key, value, createRevision } = written;
  // The cache has the entry, unless another write has replaced it or the watch did not deliver it in time.
  const cached = cache.get(key);
  if (cached?.modRevision === result.revision) return { committed: true, entry: cached };
  return {
    committed: true,
    entry: cache.toEntry({
      key,
      value,
      modRevision: result.revision,
      createRevision: createRevision || result.revision,
    }),
  };
}

function toEntry(cache: WatchCache, item: KeyValue | undefined): Entry | undefined {
  return item === undefined ? undefined : cache.toEntry(item);
}

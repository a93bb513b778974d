/**
 * Finds the revision at which a watch starts, and decides which event a watch with a selector receives for a change.
 */
import { expired, type StatusError } from "../../meta/status-error.ts";
import type { Freshness } from "../../storage/object-store.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { createTombstone, type Entry } from "../../storage/watch-cache/entry.ts";
import type { CacheEvent, HistoryWatcher, HistoryWatch } from "../../storage/watch-cache/history.ts";
import type { RegistryContext } from "./context.ts";
import { conversionOf } from "./representation.ts";
import type { ServedResource } from "./resource.ts";
import { select, type SelectionRequest } from "./selection.ts";
import { unreadable, unreadableDeletion } from "./storage-errors.ts";

export interface ObjectWatchRequest extends SelectionRequest {
  readonly start:
    | { readonly kind: "after"; readonly revision: number }
    /** Start with the current state of the given freshness. If `showsState` is true, its objects are sent first. */
    | { readonly kind: "state"; readonly freshness: Freshness; readonly showsState: boolean };
}

type WatchEventType = "ADDED" | "MODIFIED" | "DELETED";

export interface SelectedEvent {
  readonly type: WatchEventType;
  readonly entry: Entry;
}

export interface WatchStart {
  /** The objects that are sent as ADDED at the start. */
  readonly initial: readonly Entry[];
  /** The watch sends changes after this revision. */
  readonly revision: number;
  /** Begins to deliver changes. Returns undefined if the history no longer has all changes since `revision`. */
  follow(follower: HistoryWatcher): HistoryWatch | undefined;
  /** Returns the event that this watch sends for a change; undefined if it sends none. */
  classify(event: CacheEvent): SelectedEvent | undefined;
  /** The error with which the watch ends, because it cannot send this event. */
  unreadableError(event: SelectedEvent, why: string): StatusError;
  /** The newest known revision. A watcher that has caught up has received all changes up to it. */
  currentRevision(): number;
}

export async function startWatch(
  context: RegistryContext,
  served: ServedResource,
  request: ObjectWatchRequest,
): Promise<WatchStart> {
  const { cache } = context.store;
  const selection = select(served, request);
  const matches = selection.matches ?? ((): boolean => true);
  const { start } = request;
  let initial: readonly Entry[] = [];
  let { revision } = cache;
  const startedAt = cache.revision;
  if (start.kind === "state") {
    const page = await context.store.list(selection.range, start.freshness);
    revision = page.revision;
    if (start.showsState) {
      if (selection.readsFields) await conversionOf(page.entries, served);
      initial = page.entries.filter(matches);
      if (served.custom !== undefined) await conversionOf(initial, served);
    }
  } else {
    revision = start.revision;
    const oldest = cache.oldestRevision(selection.prefix);
    if (revision < oldest) throw expired(`too old resource version: ${revision} (${oldest})`);
    await rejectLostRevision(cache, revision);
  }
  return {
    initial,
    revision,
    follow: (follower) => cache.follow(selection.prefix, revision, follower),
    classify: (event) => classify(event, matches),
    unreadableError: ({ type, entry }, why) => {
      if (isReadableNow(cache, entry) || (entry.modRevision <= startedAt && isReplaced(cache, entry)))
        return passedUnreadable(revision);
      const isDeletion = type === "DELETED" && context.allowsUnsafeDeletion === true;
      return isDeletion ? unreadableDeletion({ entry, why }) : unreadable(entry, why);
    },
    currentRevision: () => Math.max(revision, cache.revision),
  };
}

function isReplaced(cache: WatchCache, { key, modRevision }: Entry): boolean {
  return cache.get(key)?.modRevision !== modRevision;
}

/** Whether the same value has become readable, because the key that decrypts it was missing for a while. */
function isReadableNow(cache: WatchCache, { key, modRevision, corrupt }: Entry): boolean {
  const current = cache.get(key);
  return corrupt !== undefined && current?.modRevision === modRevision && current.corrupt === undefined;
}

/**
 * The error of a watch that starts before a value that could not be read, and that is gone now. As kubernetes: the
 * client must list again. With another error it would resume at the same revision, and fail again.
 */
function passedUnreadable(revision: number): StatusError {
  return expired(`too old resource version: ${revision} (a later change could not be read)`);
}

/**
 * As kubernetes, a watch may start at a revision that does not exist yet. But after a restore of the store from a
 * backup such a revision is one that was lost: the watch would miss all changes until the store reaches it.
 */
async function rejectLostRevision(cache: RegistryContext["store"]["cache"], revision: number): Promise<void> {
  if (cache.epoch.current === 0 || revision <= cache.revision) return;
  await cache.catchUp().catch(() => false);
  if (revision > cache.revision)
    throw expired(`the store was restored and has no resource version ${revision} (${cache.revision})`);
}

function classify(event: CacheEvent, matches: (entry: Entry) => boolean): SelectedEvent | undefined {
  const { previous, entry } = event;
  const matchedBefore = previous !== undefined && matches(previous);
  if (event.kind === "delete") return matchedBefore ? { type: "DELETED", entry } : undefined;
  if (matches(entry)) return { type: matchedBefore ? "MODIFIED" : "ADDED", entry };
  return matchedBefore ? { type: "DELETED", entry: departed(event, previous) } : undefined;
}

/** The last state that matched, with the revision of the change after which it no longer matches. */
function departed(event: CacheEvent, previous: Entry): Entry {
  const known = event.memo.get("departed") as Entry | undefined;
  if (known !== undefined) return known;
  const entry = createTombstone(previous, event.revision);
  event.memo.set("departed", entry);
  return entry;
}

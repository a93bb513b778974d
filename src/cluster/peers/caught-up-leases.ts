/**
 * Decides whether the view includes every server that had joined when the check began. Without this check a server
 * could return 404 for a resource of a server that has just joined.
 */
import { IDENTITY_LABEL } from "./identity-lease.ts";
import { prefixEnd, StorageError, type Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import { waitUntil } from "../../base/background.ts";
import type { MemberConfig } from "./peer-config.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { Identity } from "./identity.ts";
import { identityLeaseKey } from "./private-records.ts";

interface LeaseParts {
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  readonly store: { readonly kv: Kv; readonly cache: WatchCache };
}

const CATCH_UP_MS = 1_000;

/**
 * Waits up to 1 s for the view, because leases reach it through an informer, a moment later than they reach the watch
 * cache.
 */
export async function hasCaughtUp(parts: LeaseParts, { leases, self }: Identity): Promise<boolean> {
  const { env, config } = parts;
  const prefix = identityLeaseKey(config.storageRoot, "");
  const written = await newestLeases(parts, prefix);
  if (written === undefined) return false;
  const isSeen = (): boolean =>
    written.every(({ key, labels, modRevision }) => {
      const id = key.slice(prefix.length);
      const isOther = labels[IDENTITY_LABEL] !== undefined && id !== self.id;
      return !isOther || leases.hasSeen(id, modRevision);
    });
  const until = env.clock.monotonic() + CATCH_UP_MS;
  await waitUntil(env.clock, () => isSeen() || env.clock.monotonic() >= until, new AbortController().signal);
  return isSeen();
}

/** The leases at the newest revision; undefined if the store is unreachable. */
async function newestLeases(
  { store: { kv, cache } }: LeaseParts,
  prefix: string,
): Promise<readonly Entry[] | undefined> {
  const range = { start: prefix, end: prefixEnd(prefix) };
  try {
    if (await cache.catchUp()) return cache.range(range.start, range.end);
    // The cache did not reach the newest revision, for example because another process writes other keys and the watch
    // does not report its progress. Therefore the leases are read from the store itself.
    return (await kv.range(range)).items.map((item) => cache.toEntry(item));
  } catch (thrown) {
    if (thrown instanceof StorageError) return undefined;
    throw thrown;
  }
}

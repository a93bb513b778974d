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
import { endpointKey } from "./endpoint-record.ts";
import type { Identity } from "./identity.ts";
import { identityLeaseKey } from "./private-records.ts";
import type { ServerTables } from "./server-records.ts";
import { startingPrefix } from "./starting-record.ts";

interface CatchUpParts {
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  readonly store: { readonly kv: Kv; readonly cache: WatchCache };
  readonly identity: Identity;
  readonly tables: ServerTables;
}

const CATCH_UP_MS = 1_000;

/** Waits for the view, because leases and records reach it a moment later than they reach the watch cache. */
export async function hasCaughtUp(parts: CatchUpParts): Promise<boolean> {
  const { clock } = parts.env;
  const written = await newestKeys(parts);
  if (written === undefined) return false;
  const isSeen = (): boolean => written.every((entry) => hasSeen(parts, entry));
  const until = clock.monotonic() + CATCH_UP_MS;
  await waitUntil(clock, () => isSeen() || clock.monotonic() >= until, new AbortController().signal);
  return isSeen();
}

function hasSeen({ config, identity, tables }: CatchUpParts, { key, labels, modRevision }: Entry): boolean {
  const leases = identityLeaseKey(config.storageRoot, "");
  if (!key.startsWith(leases))
    return tables.endpoints.hasSeen(key, modRevision) && tables.starting.hasSeen(key, modRevision);
  const id = key.slice(leases.length);
  const isOther = labels[IDENTITY_LABEL] !== undefined && id !== identity.self.id;
  return !isOther || identity.leases.hasSeen(id, modRevision);
}

/** The newest leases and records; undefined if the store is unreachable, because newer ones may exist. */
async function newestKeys({ config, store: { kv, cache } }: CatchUpParts): Promise<readonly Entry[] | undefined> {
  const { storageRoot } = config;
  const prefixes = [identityLeaseKey(storageRoot, ""), endpointKey(storageRoot, ""), startingPrefix(storageRoot)];
  const ranges = prefixes.map((prefix) => ({ start: prefix, end: prefixEnd(prefix) }));
  try {
    if (await cache.catchUp()) return ranges.flatMap(({ start, end }) => cache.range(start, end));
    // The cache did not reach the newest revision, for example because another process writes other keys and the watch
    // does not report its progress. Therefore the keys are read from the store itself.
    const read = await Promise.all(ranges.map((range) => kv.range(range)));
    return read.flatMap(({ items }) => items.map((item) => cache.toEntry(item)));
  } catch (thrown) {
    if (thrown instanceof StorageError) return undefined;
    throw thrown;
  }
}

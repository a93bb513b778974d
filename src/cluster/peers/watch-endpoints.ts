/** Keeps the table of endpoint records in sync with the store. */
import type { BackgroundTask } from "../../base/background.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { watchPrefix } from "../../storage/watch-cache/watch-prefix.ts";
import { endpointPrefix } from "./endpoint-record.ts";
import type { EndpointTable } from "./endpoint-registry.ts";

interface FollowedRecords {
  readonly env: BaseEnv;
  readonly config: { readonly storageRoot: string };
  readonly store: { readonly cache: WatchCache };
}

export function followEndpoints(
  { env, config, store }: FollowedRecords,
  table: EndpointTable,
): { readonly task: BackgroundTask; readonly isLoaded: () => boolean } {
  let isLoaded = false;
  const stored = (entry: Entry): unknown => (entry.corrupt === undefined ? parseEntry(entry) : undefined);
  const task = watchPrefix({
    cache: store.cache,
    clock: env.clock,
    prefix: endpointPrefix(config.storageRoot),
    table: {
      reset(entries) {
        table.reset(entries.map((entry) => [entry.key, stored(entry)] as const));
        isLoaded = true;
      },
      put: (entry) => table.upsert(entry.key, stored(entry)),
      remove: (key) => table.remove(key),
    },
  });
  return { task, isLoaded: () => isLoaded };
}

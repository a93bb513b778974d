import { storagePlaceOf } from "../../objects/catalog/storage-places.ts";
import { prefixEnd } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import { storageVersionResource } from "../storageversion/objects.ts";

interface StoredOnlyInOptions {
  readonly storageRoot: string;
  /** Whether a value must be written again for another reason than its version. */
  readonly isOutdated?: (entry: Entry) => boolean;
}

/**
 * Whether a rewrite of the stored objects of the resource of a StorageVersion would change none of them: all are stored
 * in one given version, and none is outdated otherwise. False if that is not certain.
 */
export function storedOnlyIn(
  cache: Pick<WatchCache, "catchUp" | "range">,
  { storageRoot, isOutdated = () => false }: StoredOnlyInOptions,
): (name: string, version: string) => Promise<boolean> {
  return async (name, version) => {
    const { group, resource } = storageVersionResource(name);
    const place = storagePlaceOf(group, resource);
    if (place === undefined || !(await cache.catchUp())) return false;
    const prefix = `${storageRoot}${place.prefix}/`;
    return cache
      .range(prefix, prefixEnd(prefix))
      .every((entry) => entry.corrupt === undefined && entry.apiVersion === version && !isOutdated(entry));
  };
}

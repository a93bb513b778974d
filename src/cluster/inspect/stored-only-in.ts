import { storagePlaceOf } from "../../objects/catalog/storage-places.ts";
import { prefixEnd } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { storageVersionResource } from "../storageversion/objects.ts";

/**
 * Whether all stored objects of the resource of a StorageVersion are stored in one given version. False if that is not
 * certain.
 */
export function storedOnlyIn(
  cache: Pick<WatchCache, "catchUp" | "range">,
  { storageRoot }: { readonly storageRoot: string },
): (name: string, version: string) => Promise<boolean> {
  return async (name, version) => {
    const { group, resource } = storageVersionResource(name);
    const place = storagePlaceOf(group, resource);
    if (place === undefined || !(await cache.catchUp())) return false;
    const prefix = `${storageRoot}${place.prefix}/`;
    return cache
      .range(prefix, prefixEnd(prefix))
      .every(({ corrupt, apiVersion }) => corrupt === undefined && apiVersion === version);
  };
}

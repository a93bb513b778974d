/**
 * Reads stored objects for parts of the server that must not access the store. Each object is parsed once per revision.
 */
import type { Clock } from "../../base/clock.ts";
import type { Catalog } from "../../objects/catalog/catalog.ts";
import type { ResolveEndpoint } from "../endpoints/resolve-or-not-found.ts";
import type { GroupResource } from "../../meta/group-version.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { ObjectReader, ObjectTable } from "../../meta/object-table.ts";
import { StatusError } from "../../meta/status-error.ts";
import { objectIn } from "../registry/representation.ts";
import { collectionPrefix, objectKey, type ServedResource } from "../registry/resource.ts";
import { translated } from "../registry/storage-errors.ts";
import { prefixEnd } from "../../storage/kv.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { BackgroundTask } from "../../base/background.ts";
import { watchPrefix } from "../../storage/watch-cache/watch-prefix.ts";

export interface StoredObjectParts {
  readonly clock: Clock;
  readonly cache: WatchCache;
  readonly catalog: Catalog;
  /** Finds the endpoint of a built-in resource. */
  readonly resolve: ResolveEndpoint;
}

/**
 * Returns the resource in the version that the release prefers; undefined if the release does not serve the resource.
 */
export type ServedBy = (resource: GroupResource) => ServedResource | undefined;

export function preferredServed({ catalog, resolve }: Pick<StoredObjectParts, "catalog" | "resolve">): ServedBy {
  return ({ group, resource }) => {
    const version = catalog.resource(group, resource)?.versions[0]?.version;
    return version === undefined ? undefined : resolve(group, version, resource)?.served;
  };
}

export function createObjectReader(parts: StoredObjectParts, store: Pick<ObjectStore, "get">): ObjectReader {
  const { cache } = parts;
  const servedBy = preferredServed(parts);
  return {
    get(resource, namespace, name) {
      const served = servedBy(resource);
      const entry = served && cache.get(objectKey(served.stored, namespace, name));
      return entry && readableOf(entry, served);
    },
    async newest(resource, namespace, name) {
      const served = servedBy(resource);
      if (served === undefined) return undefined;
      const key = objectKey(served.stored, namespace, name);
      const entry = await translated(() => store.get(key, { kind: "newest" }));
      return entry && readableOf(entry, served);
    },
    list(resource, namespace) {
      const served = servedBy(resource);
      if (served === undefined) return [];
      const prefix = collectionPrefix(served.stored, namespace);
      return cache.range(prefix, prefixEnd(prefix)).map((entry) => {
        const object = readEntry(entry, served);
        if (object instanceof StatusError) throw object;
        return object;
      });
    },
  };
}

/**
 * Keeps the table equal to the readable stored objects of the resource, and `unreadable` to the errors of the others, by
 * key. An object that becomes unreadable without a change stays as it was. Returns undefined if the release does not serve
 * the resource.
 */
export function watchObjects(
  parts: StoredObjectParts,
  resource: GroupResource,
  table: ObjectTable,
  unreadable = new Map<string, StatusError>(),
): BackgroundTask | undefined {
  const { cache, clock } = parts;
  const served = preferredServed(parts)(resource);
  if (served === undefined) return undefined;
  const { keyPrefix } = served.stored;
  /** The revisions of the readable objects, by key. */
  const revisions = new Map<string, number>();
  return watchPrefix({
    cache,
    clock,
    prefix: keyPrefix,
    table: {
      reset(entries) {
        unreadable.clear();
        revisions.clear();
        table.reset(
          entries.flatMap((entry) => {
            const object = readEntry(entry, served);
            if (object instanceof StatusError) unreadable.set(entry.key, object);
            else revisions.set(entry.key, entry.modRevision);
            return object instanceof StatusError ? [] : [object];
          }),
        );
      },
      put(entry) {
        const object = readEntry(entry, served);
        if (object instanceof StatusError) {
          if (revisions.get(entry.key) === entry.modRevision) return;
          unreadable.set(entry.key, object);
          revisions.delete(entry.key);
          return remove(table, entry.key.slice(keyPrefix.length));
        }
        unreadable.delete(entry.key);
        revisions.set(entry.key, entry.modRevision);
        table.put(object);
      },
      remove(key) {
        unreadable.delete(key);
        revisions.delete(key);
        remove(table, key.slice(keyPrefix.length));
      },
    },
  });
}

function remove(table: ObjectTable, path: string): void {
  const slash = path.indexOf("/");
  table.remove(slash < 0 ? "" : path.slice(0, slash), path.slice(slash + 1));
}

function readableOf(entry: Entry, served: ServedResource): JsonObject | undefined {
  const object = readEntry(entry, served);
  return object instanceof StatusError ? undefined : object;
}

/** Returns the error if the entry cannot be decoded. */
function readEntry(entry: Entry, served: ServedResource): JsonObject | StatusError {
  const key = `object ${served.apiVersion}`;
  const known = entry.memo.get(key) as JsonObject | undefined;
  if (known !== undefined) return known;
  try {
    const object = objectIn(entry, served);
    entry.memo.set(key, object);
    return object;
  } catch (thrown) {
    if (thrown instanceof StatusError) return thrown;
    throw thrown;
  }
}

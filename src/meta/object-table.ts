/** Ports through which rooms that may not import the store receive and read stored objects. */
import type { GroupResource } from "./group-version.ts";
import type { JsonObject } from "./json.ts";

/** Receives the objects of one resource. The objects are shared: implementations must not change them. */
export interface ObjectTable {
  /** Replaces the content of the table. */
  reset(objects: readonly JsonObject[]): void;
  put(object: JsonObject): void;
  remove(namespace: string, name: string): void;
}

/**
 * Reads objects in the preferred API version that the release serves. The objects are shared: callers must not change
 * them.
 */
export interface ObjectReader {
  /**
   * The object from the cache of this server; undefined if it does not exist or cannot be decoded. The namespace of a
   * cluster-scoped object is "".
   */
  get(resource: GroupResource, namespace: string, name: string): JsonObject | undefined;
  /**
   * Reads the object from the store, for callers that would otherwise reject a request because the object is not in the
   * cache.
   */
  newest(resource: GroupResource, namespace: string, name: string): Promise<JsonObject | undefined>;
  /**
   * The objects from the cache of this server; "" selects all namespaces. Throws a StatusError if one of them cannot be
   * decoded, because it could forbid the request.
   */
  list(resource: GroupResource, namespace: string): readonly JsonObject[];
}

/** Wraps the table so that `then` is called after each reset. */
export function whenReset(table: ObjectTable, then: () => void): ObjectTable {
  return {
    put: (object) => table.put(object),
    remove: (namespace, name) => table.remove(namespace, name),
    reset(objects) {
      table.reset(objects);
      then();
    },
  };
}

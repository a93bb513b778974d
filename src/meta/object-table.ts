/** Parts that may not know the store are told of its objects by these. */
import type { GroupResource } from "./group-version.ts";
import type { JsonObject } from "./json.ts";

/** Follows the objects of one resource. What it is given is shared: nobody may change it. */
export interface ObjectTable {
  /** From now on there is exactly this. */
  reset(objects: readonly JsonObject[]): void;
  put(object: JsonObject): void;
  remove(namespace: string, name: string): void;
}

/** Objects in a version of the release, as read; what it returns is shared: nobody may change it. */
export interface ObjectReader {
  /** As this server knows it. "" is the namespace of what has none. */
  get(resource: GroupResource, namespace: string, name: string): JsonObject | undefined;
  /** As the store has it now: before something is refused for an object's absence. */
  newest(resource: GroupResource, namespace: string, name: string): Promise<JsonObject | undefined>;
  /** As this server knows them; of all namespaces for "". */
  list(resource: GroupResource, namespace: string): readonly JsonObject[];
}

/** The same table, and somebody who is told when it has been filled. */
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

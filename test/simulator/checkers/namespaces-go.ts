import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../src/meta/json.ts";
import type { PromiseChecker } from "../../../src/tools/simulator/checker.ts";
import type { EncodingRecord } from "../encoding-record.ts";
import { eventuallyNone } from "../eventually.ts";
import { NAMESPACES, type ObjectRecord } from "../object-record.ts";
import { WithinReach } from "../within-reach.ts";

/** What nobody serves any more keeps a namespace until somebody purges it. */
export function namespacesGo(record: ObjectRecord, encodings: EncodingRecord): PromiseChecker {
  return {
    name: "namespaces-go",
    promise: "A namespace that was deleted goes as soon as everything in it can be reached.",
    whenSettled: (cluster) => {
      const reach = new WithinReach(encodings, cluster);
      return eventuallyNone(cluster, () =>
        record.leaving
          .filter(([key]) => key.startsWith(NAMESPACES) && reach.hasAllServed)
          .filter(([key]) => record.keysIn(key.slice(NAMESPACES.length)).every((held) => reach.hasKey(held)))
          .map(([key, namespace]) => `${key} is still there: ${complaints(namespace)}`),
      );
    },
  };
}

/** What its conditions say is wrong. */
function complaints(namespace: JsonObject): string {
  const conditions = objectAt(namespace, "status")["conditions"];
  const all = Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
  return all
    .filter((condition) => stringAt(condition, "status") === "True")
    .map((condition) => stringAt(condition, "message"))
    .join("; ");
}

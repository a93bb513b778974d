/** Checks that deleted namespaces are removed in a settled cluster. */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../src/meta/json.ts";
import type { GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { EncodingRecord } from "../encoding-record.ts";
import { eventuallyNone } from "../eventually.ts";
import { NAMESPACES, type ObjectRecord } from "../object-record.ts";
import { ProcessableResources } from "../processable-resources.ts";

/** A namespace may remain because of objects that no server serves, until a user purges it. */
export function namespacesGo(record: ObjectRecord, encodings: EncodingRecord): GuaranteeChecker {
  return {
    name: "namespaces-go",
    promise: "A deleted namespace is removed as soon as every resource in it is reachable.",
    whenSettled: (cluster) => {
      const reach = new ProcessableResources(encodings, cluster);
      return eventuallyNone(cluster, () =>
        record.leaving
          .filter(([key]) => key.startsWith(NAMESPACES) && reach.hasAllServed)
          .filter(([key]) => record.keysIn(key.slice(NAMESPACES.length)).every((held) => reach.hasKey(held)))
          .map(([key, namespace]) => `${key} still exists: ${complaints(namespace)}`),
      );
    },
  };
}

/** The problems that the conditions of the namespace report. */
function complaints(namespace: JsonObject): string {
  const conditions = objectAt(namespace, "status")["conditions"];
  const all = Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
  return all
    .filter((condition) => stringAt(condition, "status") === "True")
    .map((condition) => stringAt(condition, "message"))
    .join("; ");
}

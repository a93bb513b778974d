import type { ResourceQuestion } from "../../../src/cluster/peers/view.ts";
import type { GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { SimulatedCluster } from "../../../src/tools/simulator/cluster.ts";
import type { EncodingRecord } from "../encoding-record.ts";
import { objectAt, stringsAt, type JsonObject } from "../../../src/meta/json.ts";
import { leavingOf, NAMESPACES, ownersOf, uidOf, type ObjectRecord } from "../object-record.ts";
import { eventuallyNone } from "../eventually.ts";
import { ProcessableResources } from "../processable-resources.ts";

const CLASS_PROTECTION = "kubernetes.io/vac-protection";
/** The only version in which servers protect the object. */
const PROTECTED_CLASS: ResourceQuestion = {
  group: "storage.k8s.io",
  version: "v1",
  resource: "volumeattributesclasses",
  subresource: "",
};

/** An object that waits for its dependents also waits while a departed server may bring back more of them. */
export function garbageGoes(record: ObjectRecord, encodings: EncodingRecord): GuaranteeChecker {
  const uncollected = (reach: ProcessableResources): string[] =>
    record.owned
      .filter(([key, object]) => {
        const owners = ownersOf(object);
        const isGarbage = owners.every(({ uid }) => record.withUid(uid) === undefined);
        return (
          isGarbage && leavingOf(object) === "no" && reach.hasKey(key) && owners.every((one) => reach.hasOwner(one))
        );
      })
      .map(([key]) => `${key} still exists, but its owners are deleted`);
  /** A dependent has another owner whose existence cannot be determined. */
  const isHeld = (object: JsonObject, reach: ProcessableResources): boolean =>
    record.keysOwnedBy(uidOf(object)).some((key) => ownersOf(record.at(key)).some((owner) => !reach.hasOwner(owner)));
  /** A leader that does not serve the class does not run the controller that removes the protection. */
  const mayStayProtected = (object: JsonObject, reach: ProcessableResources): boolean =>
    stringsAt(objectAt(object, "metadata"), "finalizers").includes(CLASS_PROTECTION) &&
    !reach.isServedByAll(PROTECTED_CLASS);
  const waiting = (reach: ProcessableResources): string[] => {
    if (!reach.hasAllServed || !reach.hasAllDeparted) return [];
    return record.leaving
      .filter(([key]) => !key.startsWith(NAMESPACES))
      .filter(([key, object]) => reach.hasKey(key) && !isHeld(object, reach) && !mayStayProtected(object, reach))
      .map(([key, object]) => `${key} is being deleted, and still exists (${leavingOf(object)})`);
  };
  return {
    name: "garbage-goes",
    promise:
      "Objects whose owners are deleted are collected, and an object that waits for its dependents does not wait forever.",
    whenSettled: (cluster: SimulatedCluster) => {
      const reach = new ProcessableResources(encodings, cluster);
      return eventuallyNone(cluster, () => [...uncollected(reach), ...waiting(reach)]);
    },
  };
}

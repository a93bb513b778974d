/** Checks that garbage is deleted in a settled cluster. */
import type { ResourceQuestion } from "../../../src/cluster/peers/view.ts";
import type { GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { SimulatedCluster } from "../../../src/tools/simulator/cluster.ts";
import type { EncodingRecord } from "../encoding-record.ts";
import { objectAt, stringsAt, type JsonObject } from "../../../src/meta/json.ts";
import { leavingOf, NAMESPACES, ownersOf, uidOf, type ObjectRecord } from "../object-record.ts";
import { eventuallyNone } from "../eventually.ts";
import { ProcessableResources } from "../processable-resources.ts";

const CLASS_PROTECTION = "kubernetes.io/vac-protection";
/** The only version of VolumeAttributesClass in which servers protect the object with a finalizer. */
const PROTECTED_CLASS: ResourceQuestion = {
  group: "storage.k8s.io",
  version: "v1",
  resource: "volumeattributesclasses",
  subresource: "",
};

/**
 * Objects in deletion are checked only if no departed server may return with more dependents, because the garbage
 * collector waits for such a server.
 */
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
      .map(([key]) => `${key} still exists, although its owners are deleted`);
  /** Whether a dependent of the object has another owner whose existence the garbage collector cannot determine. */
  const isHeld = (object: JsonObject, reach: ProcessableResources): boolean =>
    record.keysOwnedBy(uidOf(object)).some((key) => ownersOf(record.at(key)).some((owner) => !reach.hasOwner(owner)));
  /**
   * Whether the object may keep its protection finalizer: a leader that does not serve the class in v1 does not run the
   * controller that removes it.
   */
  const mayStayProtected = (object: JsonObject, reach: ProcessableResources): boolean =>
    stringsAt(objectAt(object, "metadata"), "finalizers").includes(CLASS_PROTECTION) &&
    !reach.isServedByAll(PROTECTED_CLASS);
  const waiting = (reach: ProcessableResources): string[] => {
    if (!reach.hasAllServed || !reach.hasAllDeparted) return [];
    return record.leaving
      .filter(([key]) => !key.startsWith(NAMESPACES))
      .filter(([key, object]) => reach.hasKey(key) && !isHeld(object, reach) && !mayStayProtected(object, reach))
      .map(([key, object]) => `${key} is being deleted, but still exists (${leavingOf(object)})`);
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

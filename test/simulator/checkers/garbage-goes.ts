import type { ResourceQuestion } from "../../../src/cluster/peers/view.ts";
import type { PromiseChecker } from "../../../src/tools/simulator/checker.ts";
import type { SimulatedCluster } from "../../../src/tools/simulator/cluster.ts";
import type { EncodingRecord } from "../encoding-record.ts";
import { objectAt, stringsAt, type JsonObject } from "../../../src/meta/json.ts";
import { leavingOf, NAMESPACES, ownersOf, uidOf, type ObjectRecord } from "../object-record.ts";
import { eventuallyNone } from "../eventually.ts";
import { WithinReach } from "../within-reach.ts";

const CLASS_PROTECTION = "kubernetes.io/vac-protection";
/** The only version that servers protect. */
const PROTECTED_CLASS: ResourceQuestion = {
  group: "storage.k8s.io",
  version: "v1",
  resource: "volumeattributesclasses",
  subresource: "",
};

/** What waits for what it owns waits also while a departed server may bring back more of it. */
export function garbageGoes(record: ObjectRecord, encodings: EncodingRecord): PromiseChecker {
  const uncollected = (reach: WithinReach): string[] =>
    record.owned
      .filter(([key, object]) => {
        const owners = ownersOf(object);
        const isGarbage = owners.every(({ uid }) => record.withUid(uid) === undefined);
        return (
          isGarbage && leavingOf(object) === "no" && reach.hasKey(key) && owners.every((one) => reach.hasOwner(one))
        );
      })
      .map(([key]) => `${key} is still there, and its owners are gone`);
  /** By a dependent that has another owner, of which nobody can say whether it lives. */
  const isHeld = (object: JsonObject, reach: WithinReach): boolean =>
    record.keysOwnedBy(uidOf(object)).some((key) => ownersOf(record.at(key)).some((owner) => !reach.hasOwner(owner)));
  /** A leader that does not serve the class runs no controller that lifts its protection. */
  const mayStayProtected = (object: JsonObject, reach: WithinReach): boolean =>
    stringsAt(objectAt(object, "metadata"), "finalizers").includes(CLASS_PROTECTION) &&
    !reach.isServedByAll(PROTECTED_CLASS);
  const waiting = (reach: WithinReach): string[] => {
    if (!reach.hasAllServed || !reach.hasAllDeparted) return [];
    return record.leaving
      .filter(([key]) => !key.startsWith(NAMESPACES))
      .filter(([key, object]) => reach.hasKey(key) && !isHeld(object, reach) && !mayStayProtected(object, reach))
      .map(([key, object]) => `${key} was asked to go, and is still there (${leavingOf(object)})`);
  };
  return {
    name: "garbage-goes",
    promise: "What nobody owns any more goes, and what waits for its dependents does not wait for ever.",
    whenSettled: (cluster: SimulatedCluster) => {
      const reach = new WithinReach(encodings, cluster);
      return eventuallyNone(cluster, () => [...uncollected(reach), ...waiting(reach)]);
    },
  };
}

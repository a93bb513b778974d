/** What runs pods: deployments, sets, jobs, and what scales and protects them. */
import { objectAt, type JsonObject } from "../../meta/json.ts";
import type { Kind, KindEntry } from "../kind.ts";
import { setClaimKinds } from "./claim-templates.ts";

const SCALED: Kind = { setDefaults: setReplicas };

const STATEFUL_SET: Kind = {
  setDefaults(statefulSet) {
    setReplicas(statefulSet);
    setClaimKinds(statefulSet);
  },
};

export const WORKLOAD_KINDS: readonly KindEntry[] = [
  ["apps/Deployment", SCALED],
  ["apps/ReplicaSet", SCALED],
  ["apps/StatefulSet", STATEFUL_SET],
];

/** Clients count on a number of replicas; some fall over without one. */
function setReplicas(workload: JsonObject): void {
  const spec = objectAt(workload, "spec");
  spec["replicas"] ??= 1;
  workload["spec"] = spec;
}

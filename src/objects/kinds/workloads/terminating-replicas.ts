/**
 * Drops status.terminatingReplicas, unless the gate DeploymentReplicaSetTerminatingReplicas is on or the stored object
 * has the field.
 */
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import type { KindContext } from "../kind.ts";

export function dropTerminatingReplicas(object: JsonObject, existing: JsonObject, { gates }: KindContext): void {
  if (
    gates.isOn("DeploymentReplicaSetTerminatingReplicas") ||
    objectAt(existing, "status")["terminatingReplicas"] !== undefined
  )
    return;
  delete objectAt(object, "status")["terminatingReplicas"];
}

/** Sets the fields of a pod that the server determines. */
import { numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { KindContext } from "../kind.ts";
import { withAppArmorFields } from "./app-armor.ts";
import { withLabelKeysSelected } from "./label-keys.ts";
import { qosClass } from "./qos-class.ts";

/**
 * DIFFERS: fields of features that are off by default are kept. Kubernetes drops them unless the feature gate is on.
 */
export function preparePodCreate(pod: JsonObject, context: KindContext): void {
  const spec = objectAt(pod, "spec");
  const metadata = objectAt(pod, "metadata");
  const selected = withLabelKeysSelected(spec, objectAt(metadata, "labels"), context);
  pod["spec"] = withAppArmorFields(selected, objectAt(metadata, "annotations"), context);
  const isGated = objectsAt(spec, "schedulingGates").length > 0;
  pod["status"] = {
    phase: "Pending",
    ...(isGated ? { conditions: [gatedCondition(context.time)] } : {}),
    qosClass: qosClass(pod, context),
  };
}

function gatedCondition(time: string): JsonObject {
  return {
    type: "PodScheduled",
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: time,
    reason: "SchedulingGated",
    message: "Scheduling is blocked due to non-empty scheduling gates",
  };
}

/**
 * Keeps owner references, the QoS class and observed generations, which old kubelets omit or corrupt in status updates.
 */
export function preparePodStatusUpdate(pod: JsonObject, existing: JsonObject, context: KindContext): void {
  const status = { ...objectAt(pod, "status") };
  const before = objectAt(existing, "status");
  if (stringAt(status, "qosClass") === "" && before["qosClass"] !== undefined) status["qosClass"] = before["qosClass"];
  if (context.gates.isOn("PodObservedGenerationTracking")) keepObservedGenerations(status, before);
  pod["status"] = status;
  const metadata = { ...objectAt(pod, "metadata") };
  const { ownerReferences } = objectAt(existing, "metadata");
  if (ownerReferences === undefined) delete metadata["ownerReferences"];
  else metadata["ownerReferences"] = ownerReferences;
  pod["metadata"] = metadata;
}

/** A status without an observedGeneration keeps the stored one. */
function keepObservedGenerations(status: JsonObject, before: JsonObject): void {
  const seen = numberAt(before, "observedGeneration") ?? 0;
  if ((numberAt(status, "observedGeneration") ?? 0) === 0 && seen !== 0) status["observedGeneration"] = seen;
  if (status["conditions"] === undefined) return;
  const ofType = new Map<string, number[]>();
  for (const condition of objectsAt(before, "conditions")) {
    const type = stringAt(condition, "type");
    ofType.set(type, [...(ofType.get(type) ?? []), numberAt(condition, "observedGeneration") ?? 0]);
  }
  status["conditions"] = objectsAt(status, "conditions").map((condition) => {
    const known = ofType.get(stringAt(condition, "type"))?.shift() ?? 0;
    const isSilent = (numberAt(condition, "observedGeneration") ?? 0) === 0;
    return isSilent && known !== 0 ? { ...condition, observedGeneration: known } : condition;
  });
}

/** The QoS class of a pod, computed from its requests and limits. */
import { isJsonObject, objectAt, objectsAt, type JsonObject } from "../../../meta/json.ts";
import type { KindContext } from "../kind.ts";
import { nanosOf } from "../../../meta/quantity.ts";

type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const COUNTED = ["cpu", "memory"] as const;

/** Pod-level resources take precedence over those of the containers. */
export function qosClass(pod: JsonObject, context: Pick<KindContext, "gates">): QosClass {
  const spec = objectAt(pod, "spec");
  const { resources } = spec;
  const isWhole = isJsonObject(resources) && context.gates.isOn("PodLevelResources");
  const parts = isWhole
    ? [resources]
    : [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")].map((container) =>
        objectAt(container, "resources"),
      );
  const requests = totalOf(parts, "requests");
  const limits = totalOf(parts, "limits");
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  const isLimited = parts.every(
    (part) => (isWhole && Object.keys(objectAt(part, "limits")).length === 0) || hasAllLimits(part),
  );
  const isEqual = requests.size === limits.size && [...requests].every(([name, amount]) => limits.get(name) === amount);
  return isLimited && isEqual ? "Guaranteed" : "Burstable";
}

function hasAllLimits(resources: JsonObject): boolean {
  return COUNTED.every((name) => nanosOf(objectAt(resources, "limits")[name]) > 0n);
}

/** A missing request counts as the limit. */
function totalOf(parts: readonly JsonObject[], amounts: "requests" | "limits"): ReadonlyMap<string, bigint> {
  const total = new Map<string, bigint>();
  for (const part of parts) {
    const limits = objectAt(part, "limits");
    const list = amounts === "limits" ? limits : { ...limits, ...objectAt(part, "requests") };
    for (const name of COUNTED) {
      const amount = nanosOf(list[name]);
      if (amount > 0n) total.set(name, (total.get(name) ?? 0n) + amount);
    }
  }
  return total;
}

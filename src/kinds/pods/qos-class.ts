/** The quality of service that a pod's requests and limits amount to. */
import { objectAt, type JsonObject } from "../../meta/json.ts";
import { objectsAt } from "../checks.ts";
import { nanosOf } from "../quantity.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const COUNTED = ["cpu", "memory"] as const;

export function qosClass(pod: JsonObject): QosClass {
  const spec = objectAt(pod, "spec");
  const containers = [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")].map(amountsOf);
  if (containers.every(({ requests, limits }) => COUNTED.every((name) => requests[name] === 0n && limits[name] === 0n)))
    return "BestEffort";
  const isGuaranteed = containers.every(({ requests, limits }) =>
    COUNTED.every((name) => limits[name] > 0n && limits[name] === requests[name]),
  );
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

type Amounts = Record<(typeof COUNTED)[number], bigint>;

function amountsOf(container: JsonObject): { readonly requests: Amounts; readonly limits: Amounts } {
  const resources = objectAt(container, "resources");
  const limits = objectAt(resources, "limits");
  // Who names a limit and no request requests the limit.
  const requests = { ...limits, ...objectAt(resources, "requests") };
  const amounts = (from: JsonObject): Amounts => ({ cpu: nanosOf(from["cpu"]), memory: nanosOf(from["memory"]) });
  return { requests: amounts(requests), limits: amounts(limits) };
}

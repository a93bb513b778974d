/**
 * Computes the total requests or limits of a pod: the sum of its containers and sidecars, but at least what each init
 * container needs together with the sidecars that were started before it.
 */
import {
  aggregatedAmounts,
  aggregatedResources,
  type ResourceSide,
} from "../../../objects/kinds/pods/resource-lists.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { amountsAt, NO_AMOUNTS, plus, raiseTo, type Amount, type Amounts } from "../../../meta/amounts.ts";

/** The total according to the spec, including pod-level cpu and memory. */
export function specifiedAmounts(pod: JsonObject, side: ResourceSide): Map<string, Amount> {
  const spec = objectAt(pod, "spec");
  const total = aggregatedResources(spec, side);
  for (const [name, one] of amountsAt(objectAt(spec, "resources"), side))
    if (name === "cpu" || name === "memory") total.set(name, one);
  return total;
}

/**
 * The total for quotas. It also considers the resources in the container statuses, all pod-level resources and the pod
 * overhead.
 */
export function effectiveAmounts(pod: JsonObject, side: ResourceSide): Map<string, Amount> {
  const spec = objectAt(pod, "spec");
  const statuses = statusesOf(pod);
  const isInfeasible = isResizeInfeasible(pod);
  const total = aggregatedAmounts(spec, (container, isResizable) => {
    const specified = amountsAt(objectAt(container, "resources"), side);
    const status = isResizable ? statuses.get(stringAt(container, "name")) : undefined;
    return status === undefined ? specified : effective(specified, status, { side, isInfeasible });
  });
  for (const [name, one] of amountsAt(objectAt(spec, "resources"), side))
    if (isPodLevelResource(name)) total.set(name, one);
  for (const [name, overhead] of amountsAt(spec, "overhead")) {
    const known = total.get(name);
    if (side === "requests") total.set(name, known === undefined ? overhead : plus(known, overhead));
    else if (known !== undefined && known.nanos !== 0n) total.set(name, plus(known, overhead));
  }
  return total;
}

export function isPodLevelResource(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith("hugepages-");
}

function statusesOf(pod: JsonObject): ReadonlyMap<string, JsonObject> {
  const status = objectAt(pod, "status");
  const all = [...objectsAt(status, "containerStatuses"), ...objectsAt(status, "initContainerStatuses")];
  const known = new Map(all.map((one) => [stringAt(one, "name"), one]));
  return new Map([...known].filter(([, { resources }]) => isJsonObject(resources)));
}

function effective(
  specified: Amounts,
  status: JsonObject,
  { side, isInfeasible }: { readonly side: ResourceSide; readonly isInfeasible: boolean },
): Amounts {
  const highest = new Map(isInfeasible ? NO_AMOUNTS : specified);
  raiseTo(highest, amountsAt(objectAt(status, "resources"), side));
  if (side === "requests") raiseTo(highest, amountsAt(status, "allocatedResources"));
  return highest;
}

function isResizeInfeasible(pod: JsonObject): boolean {
  const pending = objectsAt(objectAt(pod, "status"), "conditions").find(
    (condition) => stringAt(condition, "type") === "PodResizePending",
  );
  return pending !== undefined && stringAt(pending, "reason") === "Infeasible";
}

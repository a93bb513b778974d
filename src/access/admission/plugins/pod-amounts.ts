/** What a pod asks for as a whole: containers add up, init containers run beside the sidecars started before them. */
import { objectsAt } from "../../../objects/kinds/checks.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { addTo, amountsAt, NO_AMOUNTS, plus, raiseTo, type Amount, type Amounts } from "./amounts.ts";

export type Side = "requests" | "limits";

/** By what its specification says alone. */
export function specifiedAmounts(pod: JsonObject, side: Side): Map<string, Amount> {
  const spec = objectAt(pod, "spec");
  const total = aggregated(spec, (container) => amountsAt(objectAt(container, "resources"), side));
  for (const [name, one] of amountsAt(objectAt(spec, "resources"), side))
    if (name === "cpu" || name === "memory") total.set(name, one);
  return total;
}

/** Also by what its containers have at the moment, and with what running it costs beside them. */
export function effectiveAmounts(pod: JsonObject, side: Side): Map<string, Amount> {
  const spec = objectAt(pod, "spec");
  const statuses = statusesOf(pod);
  const isInfeasible = isResizeInfeasible(pod);
  const total = aggregated(spec, (container, isChangeable) => {
    const specified = amountsAt(objectAt(container, "resources"), side);
    const status = isChangeable ? statuses.get(stringAt(container, "name")) : undefined;
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

/** Init containers that end before others start cannot be resized. */
type AmountsOf = (container: JsonObject, isChangeable: boolean) => Amounts;

function aggregated(spec: JsonObject, amountsOf: AmountsOf): Map<string, Amount> {
  const total = new Map<string, Amount>();
  for (const container of objectsAt(spec, "containers")) addTo(total, amountsOf(container, true));
  const sidecars = new Map<string, Amount>();
  const initial = new Map<string, Amount>();
  for (const container of objectsAt(spec, "initContainers")) {
    const isSidecar = container["restartPolicy"] === "Always";
    const own = amountsOf(container, isSidecar);
    if (isSidecar) {
      addTo(total, own);
      addTo(sidecars, own);
      // Only what this one adds can have grown.
      for (const name of own.keys()) raiseTo(initial, new Map([[name, sidecars.get(name)!]]));
    } else {
      raiseTo(initial, besideSidecars(own, sidecars));
    }
  }
  raiseTo(total, initial);
  return total;
}

/** What only the sidecars ask for has been counted as they started. */
function besideSidecars(own: Amounts, sidecars: Amounts): Amounts {
  return new Map(
    [...own].map(([name, one]) => {
      const other = sidecars.get(name);
      return [name, other === undefined ? one : plus(one, other)];
    }),
  );
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
  { side, isInfeasible }: { readonly side: Side; readonly isInfeasible: boolean },
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

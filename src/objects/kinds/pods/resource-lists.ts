/** Resource lists of pods: amounts by resource name. */
import { objectAt, objectsAt, setMember, type JsonObject } from "../../../meta/json.ts";
import { addTo, amountsAt, plus, raiseTo, type Amount, type Amounts } from "../../../meta/amounts.ts";

/** Sets missing requests to the limits, in place. */
export function requestLimits(resources: JsonObject): void {
  const limits = objectAt(resources, "limits");
  const names = Object.keys(limits);
  if (names.length === 0) return;
  const requests = objectAt(resources, "requests");
  for (const name of names) if (!Object.hasOwn(requests, name)) setMember(requests, name, limits[name]);
  resources["requests"] = requests;
}

export type ResourceSide = "requests" | "limits";

/**
 * The resource list of a container. `isResizable`: false for an init container that is not a sidecar, because it ends
 * before other containers start.
 */
type AmountsOf = (container: JsonObject, isResizable: boolean) => Amounts;

/**
 * The resources that a pod needs as a whole. Containers that run at the same time add up, and each init container runs
 * at the same time as the sidecars that started before it.
 */
export function aggregatedAmounts(spec: JsonObject, amountsIn: AmountsOf): Map<string, Amount> {
  const total = new Map<string, Amount>();
  for (const container of objectsAt(spec, "containers")) addTo(total, amountsIn(container, true));
  const sidecars = new Map<string, Amount>();
  const initial = new Map<string, Amount>();
  for (const container of objectsAt(spec, "initContainers")) {
    const isSidecar = container["restartPolicy"] === "Always";
    const own = amountsIn(container, isSidecar);
    if (isSidecar) {
      addTo(total, own);
      addTo(sidecars, own);
      // Only the resources that this sidecar requests can exceed the previous maximum.
      for (const name of own.keys()) raiseTo(initial, new Map([[name, sidecars.get(name)!]]));
    } else {
      raiseTo(initial, besideSidecars(own, sidecars));
    }
  }
  raiseTo(total, initial);
  return total;
}

/**
 * The resources of an init container and of the running sidecars. Resources that only sidecars request are omitted,
 * because they were counted when the sidecars started.
 */
function besideSidecars(own: Amounts, sidecars: Amounts): Amounts {
  return new Map(
    [...own].map(([name, one]) => {
      const other = sidecars.get(name);
      return [name, other === undefined ? one : plus(one, other)];
    }),
  );
}

export function aggregatedResources(spec: JsonObject, side: ResourceSide): Map<string, Amount> {
  return aggregatedAmounts(spec, (container) => amountsAt(objectAt(container, "resources"), side));
}

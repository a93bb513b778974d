/** Amounts of cpu, memory and the like, by name of the resource. */
import { isJsonObject, objectAt, setMember, type JsonObject } from "../../../meta/json.ts";
import { objectsAt } from "../checks.ts";
import { isBinaryQuantity, nanosOf, quantityOf, roundedUpToMilli } from "../quantity.ts";

/** In place: amounts smaller than a thousandth are rounded up, and all are written the one way servers write them. */
export function setResourceListDefaults(parent: JsonObject, key: string): void {
  const list = parent[key];
  if (!isJsonObject(list)) return;
  for (const name of Object.keys(list)) setMember(list, name, roundedUpToMilli(String(list[name])));
}

/** In place, of `requests` and `limits`. */
export function setResourcesDefaults(resources: JsonObject): void {
  setResourceListDefaults(resources, "limits");
  setResourceListDefaults(resources, "requests");
}

/** In place: who names a limit and no request requests the limit. */
export function requestLimits(resources: JsonObject): void {
  const limits = objectAt(resources, "limits");
  const names = Object.keys(limits);
  if (names.length === 0) return;
  const requests = objectAt(resources, "requests");
  for (const name of names) if (!Object.hasOwn(requests, name)) setMember(requests, name, limits[name]);
  resources["requests"] = requests;
}

interface Amount {
  readonly nanos: bigint;
  readonly isBinary: boolean;
}

type Amounts = Map<string, Amount>;

/**
 * What all containers of a pod come to: those that run side by side add up, and each init container runs beside
 * the sidecars that started before it.
 */
export function aggregatedResources(spec: JsonObject, amounts: "requests" | "limits"): ReadonlyMap<string, string> {
  const total: Amounts = new Map();
  for (const container of objectsAt(spec, "containers")) add(total, amountsOf(container, amounts));
  const sidecars: Amounts = new Map();
  const initial: Amounts = new Map();
  for (const container of objectsAt(spec, "initContainers")) {
    const own = amountsOf(container, amounts);
    if (container["restartPolicy"] === "Always") {
      add(total, own);
      add(sidecars, own);
      raise(initial, sidecars);
    } else {
      add(own, sidecars);
      raise(initial, own);
    }
  }
  raise(total, initial);
  return new Map([...total].map(([name, { nanos, isBinary }]) => [name, quantityOf(nanos, isBinary)]));
}

function amountsOf(container: JsonObject, amounts: "requests" | "limits"): Amounts {
  const list = objectAt(objectAt(container, "resources"), amounts);
  return new Map(
    Object.entries(list).map(([name, value]) => [
      name,
      { nanos: nanosOf(value), isBinary: isBinaryQuantity(String(value)) },
    ]),
  );
}

function add(to: Amounts, more: ReadonlyMap<string, Amount>): void {
  for (const [name, amount] of more) {
    const known = to.get(name);
    to.set(name, known === undefined ? amount : { ...known, nanos: known.nanos + amount.nanos });
  }
}

function raise(to: Amounts, others: ReadonlyMap<string, Amount>): void {
  for (const [name, amount] of others) {
    const known = to.get(name);
    if (known === undefined || amount.nanos > known.nanos) to.set(name, amount);
  }
}

/** Helpers with which kinds set default values, as Kubernetes' defaulting functions do. */
import { isJsonObject, objectAt, setMember, stringsAt, type JsonObject } from "../../meta/json.ts";
import { roundedUpToMilli } from "../../meta/quantity.ts";

/** For members that are pointers in Go: sets the default only where the member is absent. */
export function setMissing(target: JsonObject, defaults: JsonObject): void {
  for (const key of Object.keys(defaults)) if (target[key] === undefined) target[key] = defaults[key];
}

/**
 * For members that are not pointers in Go: sets the default where the member is absent or zero, which Go cannot
 * distinguish.
 */
export function setEmpty(target: JsonObject, defaults: Readonly<Record<string, string | number>>): void {
  for (const key of Object.keys(defaults)) {
    const given = target[key] ?? "";
    if (given === "" || given === 0) target[key] = defaults[key];
  }
}

/** Sets defaults in each item of the member, if it is a list. */
export function setMissingInItems(parent: JsonObject, key: string, defaults: JsonObject): void {
  const items = parent[key];
  if (!Array.isArray(items)) return;
  parent[key] = items.map((item: unknown) => (isJsonObject(item) ? { ...defaults, ...item } : item));
}

/** A struct that Go always writes. It is not copied, so it is only for objects that no other code holds. */
export function structAt(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  if (isJsonObject(value)) return value;
  const made: JsonObject = {};
  parent[key] = made;
  return made;
}

/** A copy of a struct that Go always writes: the caller may set its members even if other code holds the original. */
export function ownStruct(parent: JsonObject, key: string): JsonObject {
  const own = { ...objectAt(parent, key) };
  parent[key] = own;
  return own;
}

/** A copy of a struct behind a pointer; undefined if it is absent. */
export function ownPointer(parent: JsonObject, key: string): JsonObject | undefined {
  return parent[key] === undefined ? undefined : ownStruct(parent, key);
}

/** Copies the resource list, if there is one, and rounds its amounts up to thousandths in their canonical form. */
export function setRoundedResources(parent: JsonObject, key: string): void {
  const list = parent[key];
  if (!isJsonObject(list)) return;
  const rounded: JsonObject = {};
  for (const name of Object.keys(list)) setMember(rounded, name, roundedUpToMilli(String(list[name])));
  parent[key] = rounded;
}

/** Rounds both lists of resource requirements. */
export function setRoundedRequirements(resources: JsonObject): void {
  setRoundedResources(resources, "limits");
  setRoundedResources(resources, "requests");
}

/** As the admission plugin StorageObjectInUseProtection: the finalizer delays the deletion of an object in use. */
export function addFinalizer(object: JsonObject, finalizer: string): void {
  const metadata = objectAt(object, "metadata");
  const finalizers = stringsAt(metadata, "finalizers");
  if (finalizers.includes(finalizer)) return;
  object["metadata"] = { ...metadata, finalizers: [...finalizers, finalizer] };
}

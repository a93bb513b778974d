/** Helpers with which kinds set default values, as Kubernetes' defaulting functions do. */
import { isJsonObject, objectAt, setMember, stringsAt, type JsonObject } from "../../meta/json.ts";
import { roundedUpToMilli } from "../../meta/quantity.ts";

/** For fields that are pointers in Go: sets the default only where the field is absent or null. */
export function setMissing(target: JsonObject, defaults: JsonObject): void {
  for (const key of Object.keys(defaults)) target[key] ??= defaults[key];
}

/**
 * For fields that are not pointers in Go: sets the default where the field is absent or zero, which Go cannot
 * distinguish.
 */
export function setEmpty(target: JsonObject, defaults: Readonly<Record<string, string | number>>): void {
  for (const key of Object.keys(defaults)) {
    const given = target[key] ?? "";
    if (given === "" || given === 0) target[key] = defaults[key];
  }
}

/**
 * As kubernetes: an empty list in a field that Go always writes is stored as null, because protobuf does not distinguish
 * it from an absent list.
 */
export function setNullIfEmpty(parent: JsonObject, key: string): void {
  const list = parent[key] ?? null;
  parent[key] = Array.isArray(list) && list.length === 0 ? null : list;
}

/** Sets defaults in each item of the list at `key`; does nothing if the field is not a list. */
export function setMissingInItems(parent: JsonObject, key: string, defaults: JsonObject): void {
  const items = parent[key];
  if (!Array.isArray(items)) return;
  parent[key] = items.map((item: unknown) => (isJsonObject(item) ? { ...defaults, ...item } : item));
}

/**
 * The struct at `key`, which Go always writes; an empty one is added if it is absent. The struct is not copied, so
 * callers must be the only holders of `parent`.
 */
export function structAt(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  if (isJsonObject(value)) return value;
  const made: JsonObject = {};
  parent[key] = made;
  return made;
}

/**
 * A copy of the struct at `key`, which Go always writes. The caller may set its fields even if other code holds the
 * original.
 */
export function ownStruct(parent: JsonObject, key: string): JsonObject {
  const own = { ...objectAt(parent, key) };
  parent[key] = own;
  return own;
}

/** A copy of the struct at `key`, which is a pointer in Go; undefined if it is absent. */
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

/**
 * Adds the finalizer with which the admission plugin StorageObjectInUseProtection delays the deletion of an object in
 * use.
 */
export function addFinalizer(object: JsonObject, finalizer: string): void {
  const metadata = objectAt(object, "metadata");
  const finalizers = stringsAt(metadata, "finalizers");
  if (finalizers.includes(finalizer)) return;
  object["metadata"] = { ...metadata, finalizers: [...finalizers, finalizer] };
}

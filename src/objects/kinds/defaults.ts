/** The vocabulary in which kinds fill in what an object leaves out, as Kubernetes' defaulting functions do. */
import { isJsonObject, objectAt, setMember, stringsAt, type JsonObject } from "../../meta/json.ts";
import { roundedUpToMilli } from "../../meta/quantity.ts";

/** Members that are pointers in Go: only absent ones get their default. */
export function setMissing(target: JsonObject, defaults: JsonObject): void {
  for (const key of Object.keys(defaults)) if (target[key] === undefined) target[key] = defaults[key];
}

/** Members that are no pointers in Go: absent ones and zero values, which Go cannot tell apart, get their default. */
export function setEmpty(target: JsonObject, defaults: Readonly<Record<string, string | number>>): void {
  for (const key of Object.keys(defaults)) {
    const given = target[key] ?? "";
    if (given === "" || given === 0) target[key] = defaults[key];
  }
}

/** In each item of the member, if it is a list. */
export function setMissingInItems(parent: JsonObject, key: string, defaults: JsonObject): void {
  const items = parent[key];
  if (!Array.isArray(items)) return;
  parent[key] = items.map((item: unknown) => (isJsonObject(item) ? { ...defaults, ...item } : item));
}

/** A struct that Go always writes, itself and not a copy: for objects that nobody else holds. */
export function structAt(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  if (isJsonObject(value)) return value;
  const made: JsonObject = {};
  parent[key] = made;
  return made;
}

/** A struct that Go always writes, copied: the caller may set its members although others hold the original. */
export function ownStruct(parent: JsonObject, key: string): JsonObject {
  const own = { ...objectAt(parent, key) };
  parent[key] = own;
  return own;
}

/** A struct behind a pointer, copied; undefined when it is absent. */
export function ownPointer(parent: JsonObject, key: string): JsonObject | undefined {
  return parent[key] === undefined ? undefined : ownStruct(parent, key);
}

/** Copies the resource list, if there is one: the server keeps amounts in thousandths and in their canonical text. */
export function setRoundedResources(parent: JsonObject, key: string): void {
  const list = parent[key];
  if (!isJsonObject(list)) return;
  const rounded: JsonObject = {};
  for (const name of Object.keys(list)) setMember(rounded, name, roundedUpToMilli(String(list[name])));
  parent[key] = rounded;
}

/** Of resource requirements, which have two such lists. */
export function setRoundedRequirements(resources: JsonObject): void {
  setRoundedResources(resources, "limits");
  setRoundedResources(resources, "requests");
}

/** As the admission plugin StorageObjectInUseProtection does: an object in use is not deleted while others use it. */
export function addFinalizer(object: JsonObject, finalizer: string): void {
  const metadata = objectAt(object, "metadata");
  const finalizers = stringsAt(metadata, "finalizers");
  if (finalizers.includes(finalizer)) return;
  object["metadata"] = { ...metadata, finalizers: [...finalizers, finalizer] };
}

/** Filling in what an object leaves unsaid: absent members, and texts that are empty as Go's zero is. */
import { isJsonObject, objectAt, setMember, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { roundedUpToMilli } from "../../../meta/quantity.ts";

export function setMissing(target: JsonObject, defaults: JsonObject): void {
  for (const key of Object.keys(defaults)) if (target[key] === undefined) target[key] = defaults[key];
}

export function setEmpty(target: JsonObject, defaults: Readonly<Record<string, string>>): void {
  for (const key of Object.keys(defaults)) if (stringAt(target, key) === "") target[key] = defaults[key];
}

/** A struct that Go always writes; the caller may set its members. */
export function ownStruct(parent: JsonObject, key: string): JsonObject {
  const own = { ...objectAt(parent, key) };
  parent[key] = own;
  return own;
}

/** Undefined when the member is absent, else a copy of it that stands in its place. */
export function ownPointer(parent: JsonObject, key: string): JsonObject | undefined {
  return parent[key] === undefined ? undefined : ownStruct(parent, key);
}

/** Of each item of the member, if it is a list. */
export function setMissingInItems(parent: JsonObject, key: string, defaults: JsonObject): void {
  const items = parent[key];
  if (!Array.isArray(items)) return;
  parent[key] = items.map((item: unknown) => (isJsonObject(item) ? { ...defaults, ...item } : item));
}

/** The amounts of the member, if it is there, as lists of resources are kept. */
export function setRoundedResources(parent: JsonObject, key: string): void {
  const resources = ownPointer(parent, key);
  if (resources === undefined) return;
  for (const name of Object.keys(resources)) setMember(resources, name, roundedUpToMilli(String(resources[name])));
}

/** As kubernetes StorageObjectInUseProtection: what is in use is not deleted under its users. */
export function addFinalizer(object: JsonObject, finalizer: string): void {
  const metadata = objectAt(object, "metadata");
  const finalizers = stringsAt(metadata, "finalizers");
  if (finalizers.includes(finalizer)) return;
  object["metadata"] = { ...metadata, finalizers: [...finalizers, finalizer] };
}

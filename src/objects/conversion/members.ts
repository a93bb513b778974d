/** Helpers for conversions: change, rename and omit fields of an object without modifying it. */
import { annotationsOf, isJsonObject, jsonEquals, objectAt, type JsonObject } from "../../meta/json.ts";

/** Changes the object in the field `key`; returns `parent` itself if the field is not an object. */
export function updateObject(parent: JsonObject, key: string, change: (child: JsonObject) => JsonObject): JsonObject {
  const child = parent[key];
  if (!isJsonObject(child)) return parent;
  const changed = change(child);
  return changed === child ? parent : { ...parent, [key]: changed };
}

/**
 * Changes the objects in the list `key`, but not its other items; returns `parent` itself if the field is not a list.
 */
export function updateItems(parent: JsonObject, key: string, change: (item: JsonObject) => JsonObject): JsonObject {
  const items = parent[key];
  if (!Array.isArray(items)) return parent;
  const changed = items.map((item: unknown) => (isJsonObject(item) ? change(item) : item));
  return changed.every((item, index) => item === items[index]) ? parent : { ...parent, [key]: changed };
}

/**
 * Renames fields and keeps their order. A field that already has one of the new names does not belong to the old shape.
 * It is dropped, so that it cannot replace the renamed field.
 */
export function renameMembers(object: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  const renamed = new Map(Object.entries(names));
  const taken = new Set(renamed.values());
  const entries = Object.entries(object).filter(([key]) => renamed.has(key) || !taken.has(key));
  return Object.fromEntries(entries.map(([key, value]) => [renamed.get(key) ?? key, value]));
}

export function omitMembers(object: JsonObject, keys: readonly string[]): JsonObject {
  if (!keys.some((key) => Object.hasOwn(object, key))) return object;
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

/** Omits fields that are undefined or null. */
export function presentMembers(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null));
}

export function invertNames(names: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(names).map(([from, to]) => [to, from]));
}

/**
 * Sets annotations, and removes those whose new value is undefined. Removes metadata.annotations if it becomes empty.
 */
export function changeAnnotations(
  object: JsonObject,
  changes: Readonly<Record<string, string | undefined>>,
): JsonObject {
  const before = annotationsOf(object);
  const removed = Object.keys(changes).filter((key) => changes[key] === undefined);
  const after = { ...omitMembers(before, removed), ...presentMembers(changes) };
  if (jsonEquals(before, after)) return object;
  const metadata = objectAt(object, "metadata");
  const isEmpty = Object.keys(after).length === 0;
  const changed = isEmpty ? omitMembers(metadata, ["annotations"]) : { ...metadata, annotations: after };
  return { ...object, metadata: changed };
}

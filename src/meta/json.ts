export type JsonObject = { [key: string]: unknown };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member as an object; an empty object if it is absent or has another type. */
export function objectAt(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  return isJsonObject(value) ? value : {};
}

export function specOf(object: JsonObject): JsonObject {
  return objectAt(object, "spec");
}

export function statusOf(object: JsonObject): JsonObject {
  return objectAt(object, "status");
}

/** The annotations in the metadata of an object. */
export function annotationsOf(object: JsonObject): JsonObject {
  return objectAt(objectAt(object, "metadata"), "annotations");
}

export function stringAt(parent: JsonObject, key: string): string {
  const value = parent[key];
  return typeof value === "string" ? value : "";
}

/** Undefined if the member is not a number. */
export function numberAt(parent: JsonObject, key: string): number | undefined {
  const value = parent[key];
  return typeof value === "number" ? value : undefined;
}

export function stringsAt(parent: JsonObject, key: string): string[] {
  const value = parent[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The objects in an array; items of other types are omitted. */
export function objectsAt(parent: JsonObject, key: string): JsonObject[] {
  const value = parent[key];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Undefined for text that is not JSON, and for JSON that is not an object. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Equality of JSON values; a member that is undefined counts as absent. */
export function jsonEquals(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => jsonEquals(item, right[index]))
    );
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  for (const key of Object.keys(left)) if (!jsonEquals(left[key], ownMember(right, key))) return false;
  for (const key of Object.keys(right))
    if (right[key] !== undefined && ownMember(left, key) === undefined) return false;
  return true;
}

/** Undefined if the object has no such member of its own; `constructor` and the like are inherited. */
export function ownMember(value: unknown, key: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Sets a member without ever changing a prototype: request bodies may name `__proto__`. */
export function setMember(target: JsonObject, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

export function cloneJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map(cloneJson) as T;
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) setMember(copy, key, cloneJson(value[key]));
  return copy as T;
}

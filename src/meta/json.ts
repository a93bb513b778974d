/** Reads, compares, copies and sets fields of JSON objects whose content is not trusted. */
export type JsonObject = { [key: string]: unknown };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object in the field `key`; an empty object if the field is absent or has another type. */
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

/** The number in the field `key`; undefined if the field is not a number. */
export function numberAt(parent: JsonObject, key: string): number | undefined {
  const value = parent[key];
  return typeof value === "number" ? value : undefined;
}

export function stringsAt(parent: JsonObject, key: string): string[] {
  const value = parent[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The objects in the list `key`; items of other types are omitted. */
export function objectsAt(parent: JsonObject, key: string): JsonObject[] {
  const value = parent[key];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Parses a JSON object; undefined for text that is not JSON, and for JSON that is not an object. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Equality of JSON values; a field that is undefined counts as absent. */
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
  // `for in` allocates no list of keys. JSON objects inherit no enumerable field.
  for (const key in left) if (!jsonEquals(left[key], ownMember(right, key))) return false;
  for (const key in right) if (right[key] !== undefined && ownMember(left, key) === undefined) return false;
  return true;
}

/**
 * The value of an own field; undefined if the object does not have the field, or only inherits it, such as
 * `constructor`.
 */
export function ownMember(value: unknown, key: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Sets a field without changing the prototype, because request bodies may contain `__proto__`. */
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

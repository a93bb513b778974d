/** Accessors for the fields of a CRD schema and for the schemas below it. */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";

export const PRESERVES = "x-kubernetes-preserve-unknown-fields";
export const INT_OR_STRING = "x-kubernetes-int-or-string";
export const EMBEDDED = "x-kubernetes-embedded-resource";
export const LIST_TYPE = "x-kubernetes-list-type";
export const LIST_MAP_KEYS = "x-kubernetes-list-map-keys";
export const MAP_TYPE = "x-kubernetes-map-type";
export const VALIDATIONS = "x-kubernetes-validations";

/** The schema in `items`; undefined if it is absent or is a list of schemas. */
export function itemsOf({ items }: JsonObject): JsonObject | undefined {
  return isJsonObject(items) ? items : undefined;
}

export function hasItems({ items }: JsonObject): boolean {
  return items !== undefined && items !== null;
}

/** The nested schemas of a field, with their names; values that are not schemas are skipped. */
export function schemaEntries(schema: JsonObject, key: string): [name: string, schema: JsonObject][] {
  const parts = schema[key];
  const entries: [string, JsonObject][] = [];
  if (!isJsonObject(parts)) return entries;
  for (const name of Object.keys(parts)) {
    const part = parts[name];
    if (isJsonObject(part)) entries.push([name, part]);
  }
  return entries;
}

export function hasAdditionalProperties({ additionalProperties }: JsonObject): boolean {
  return isJsonObject(additionalProperties) || typeof additionalProperties === "boolean";
}

export function hasProperties(schema: JsonObject): boolean {
  for (const _ in objectAt(schema, "properties")) return true;
  return false;
}

export function propertyOf(schema: JsonObject, name: string): JsonObject | undefined {
  const properties = objectAt(schema, "properties");
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isJsonObject(property) ? property : undefined;
}

export function hasDefault(schema: JsonObject): boolean {
  return schema["default"] !== undefined && schema["default"] !== null;
}

export function schemaType(schema: JsonObject): string {
  return stringAt(schema, "type");
}

/** Undefined if the field is absent, which differs from empty. */
export function optionalString(schema: JsonObject, key: string): string | undefined {
  const value = schema[key];
  return typeof value === "string" ? value : undefined;
}

/** The schema and every schema below it, in whatever field. */
export function* eachSchema(root: JsonObject): Generator<JsonObject> {
  const waiting = [root];
  for (let schema = waiting.pop(); schema !== undefined; schema = waiting.pop()) {
    yield schema;
    waiting.push(...schemasBelow(schema).toReversed());
  }
}

function schemasBelow(schema: JsonObject): JsonObject[] {
  const below: JsonObject[] = [];
  const add = (value: unknown): void => {
    if (isJsonObject(value)) below.push(value);
  };
  if (Array.isArray(schema["items"])) schema["items"].forEach(add);
  else add(schema["items"]);
  for (const key of ["allOf", "anyOf", "oneOf"]) objectsAt(schema, key).forEach(add);
  add(schema["not"]);
  for (const [, property] of schemaEntries(schema, "properties")) add(property);
  add(schema["additionalProperties"]);
  for (const [, property] of schemaEntries(schema, "patternProperties")) add(property);
  add(schema["additionalItems"]);
  for (const key of ["definitions", "dependencies"])
    for (const [, property] of schemaEntries(schema, key)) add(property);
  return below;
}

export function someSchema(root: JsonObject, isIt: (schema: JsonObject) => boolean): boolean {
  for (const schema of eachSchema(root)) if (isIt(schema)) return true;
  return false;
}

const DEPTH_MAX = 500;

/** True for a schema that is nested too deeply to be validated, because all rules recurse. It must be rejected. */
export function isTooDeep(root: JsonObject): boolean {
  let level = [root];
  for (let depth = 0; depth <= DEPTH_MAX; depth++) {
    if (level.length === 0) return false;
    level = level.flatMap(schemasBelow);
  }
  return level.length > 0;
}

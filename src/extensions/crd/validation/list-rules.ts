/** Validates x-kubernetes-list-type, x-kubernetes-list-map-keys and x-kubernetes-map-type of schemas. */
import {
  forbiddenField,
  invalidGoValue,
  invalidValue,
  required,
  unsupportedValue,
} from "../../../meta/field-errors.ts";
import { stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import {
  hasDefault,
  hasItems,
  itemsOf,
  LIST_MAP_KEYS,
  LIST_TYPE,
  MAP_TYPE,
  optionalString,
  propertyOf,
  schemaType,
} from "./schema-node.ts";
import { shownItems } from "./shown.ts";

const LIST_TYPES: readonly string[] = ["atomic", "set", "map"];
const MAP_TYPES: readonly string[] = ["atomic", "granular"];

/** Validates the list and map types of a schema. If `checksSets`, the items of a set must be atomic. */
export function* topologyErrors(schema: JsonObject, field: string, checksSets: boolean): Generator<FieldError> {
  const mapType = optionalString(schema, MAP_TYPE);
  const listType = optionalString(schema, LIST_TYPE);
  if (mapType !== undefined) {
    yield* typeErrors(schema, field, { expected: "object", extension: MAP_TYPE });
    if (!MAP_TYPES.includes(mapType)) yield unsupportedValue(`${field}.${MAP_TYPE}`, mapType, MAP_TYPES);
  }
  if (listType !== undefined) {
    if (schemaType(schema) !== "array") yield* typeErrors(schema, field, { expected: "array", extension: LIST_TYPE });
    else if (checksSets) yield* setErrors(schema, field);
    if (!LIST_TYPES.includes(listType)) yield unsupportedValue(`${field}.${LIST_TYPE}`, listType, LIST_TYPES);
  }
  yield* listMapErrors(schema, field);
}

interface Expectation {
  readonly expected: string;
  readonly extension: string;
}

function* typeErrors(schema: JsonObject, field: string, { expected, extension }: Expectation): Generator<FieldError> {
  const type = schemaType(schema);
  const sentence = `must be ${expected} if ${extension} is specified`;
  if (type === "") yield required(`${field}.type`, sentence);
  else if (type !== expected) yield invalidValue(`${field}.type`, type, sentence);
}

const IN_SET = "must be atomic as item of a list with x-kubernetes-list-type=set";

function* setErrors(schema: JsonObject, field: string): Generator<FieldError> {
  const items = itemsOf(schema);
  if (items === undefined || !hasNonAtomicSetItems(schema)) return;
  const listType = optionalString(items, LIST_TYPE);
  // As kubernetes: if the items are not lists, the error is reported at the map type, but shows the list type.
  const key = schemaType(items) === "array" ? LIST_TYPE : MAP_TYPE;
  yield invalidGoValue(`${field}.items.${key}`, listType ?? null, IN_SET);
}

export function hasNonAtomicSetItems(schema: JsonObject): boolean {
  const items = itemsOf(schema);
  if (items === undefined || schema[LIST_TYPE] !== "set") return false;
  if (schemaType(items) === "array") return (optionalString(items, LIST_TYPE) ?? "atomic") !== "atomic";
  return schemaType(items) === "object" && items[MAP_TYPE] !== "atomic";
}

function* listMapErrors(schema: JsonObject, field: string): Generator<FieldError> {
  const listType = optionalString(schema, LIST_TYPE);
  const keys = stringsAt(schema, LIST_MAP_KEYS);
  if (keys.length > 0 && listType !== "map") {
    const sentence = `must be map if ${LIST_MAP_KEYS} is non-empty`;
    const at = `${field}.${LIST_TYPE}`;
    yield listType === undefined ? required(at, sentence) : invalidValue(at, listType, sentence);
  }
  if (listType !== "map") return;
  if (keys.length === 0) yield required(`${field}.${LIST_MAP_KEYS}`, `must not be empty if ${LIST_TYPE} is map`);
  const items = itemsOf(schema);
  if (!hasItems(schema)) yield required(`${field}.items`, `must have a schema if ${LIST_TYPE} is map`);
  else if (items === undefined)
    yield invalidGoValue(`${field}.items`, shownItems(schema), `must only have a single schema if ${LIST_TYPE} is map`);
  else if (schemaType(items) === "object") yield* mapKeyErrors(items, keys, field);
  else
    yield invalidValue(
      `${field}.items.type`,
      schemaType(items),
      `must be object if parent array's ${LIST_TYPE} is map`,
    );
}

function* mapKeyErrors(items: JsonObject, keys: readonly string[], field: string): Generator<FieldError> {
  const seen = new Set<string>();
  const at = `${field}.${LIST_MAP_KEYS}`;
  for (const key of keys) {
    const property = propertyOf(items, key);
    if (property === undefined) yield invalidGoValue(at, keys, "entries must all be names of item properties");
    else if (schemaType(property) === "array" || schemaType(property) === "object")
      // As kubernetes: the message shows the type of the items instead of that of the key.
      yield invalidValue(
        `${field}.items.properties[${key}].type`,
        schemaType(items),
        `must be a scalar type if parent array's ${LIST_TYPE} is map`,
      );
    if (seen.has(key)) yield invalidGoValue(at, keys, "must not contain duplicate entries");
    seen.add(key);
  }
}

/** Items of a set, and keys of items of a map, must not be nullable; keys must also be required or have a default. */
export function* listItemErrors(schema: JsonObject, field: string): Generator<FieldError> {
  const items = itemsOf(schema);
  const listType = schema[LIST_TYPE];
  if (items === undefined || (listType !== "set" && listType !== "map")) return;
  if (items["nullable"] === true)
    yield forbiddenField(`${field}.items.nullable`, `cannot be nullable when ${LIST_TYPE} is ${listType}`);
  if (listType === "set") return;
  const needed = new Set(stringsAt(items, "required"));
  for (const key of stringsAt(schema, LIST_MAP_KEYS)) {
    const property = propertyOf(items, key);
    if (property === undefined) continue;
    const at = `${field}.items.properties[${key}]`;
    const why = `this property is in ${LIST_MAP_KEYS}, so it`;
    if (!needed.has(key) && !hasDefault(property))
      yield required(`${at}.default`, `${why} must have a default or be a required property`);
    if (property["nullable"] === true) yield forbiddenField(`${at}.nullable`, `${why} cannot be nullable`);
  }
}

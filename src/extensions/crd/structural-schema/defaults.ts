/**
 * Sets the defaults of a schema in an object. As kubernetes: a null counts as absent if the schema does not allow null.
 */
import { cloneJson, isJsonObject, setMember, type JsonObject } from "../../../meta/json.ts";
import type { StructuralSchema } from "./schema.ts";

/** Sets defaults in place in a value and everything below it. Returns whether the value has changed. */
type Fill = (value: unknown) => boolean;

export function setDefaults(object: unknown, schema: StructuralSchema): boolean {
  const hasNulls = dropNulls(object, schema);
  return compileDefaults(schema)?.(object) === true || hasNulls;
}

export function hasDefaults(schema: StructuralSchema): boolean {
  return compileDefaults(schema) !== undefined;
}

/** Undefined if the schema has no defaults. */
export function compileDefaults(schema: StructuralSchema): Fill | undefined {
  const members = compileMembers(schema);
  const items = compileElement(schema.items);
  if (members === undefined && items === undefined) return undefined;
  return (value) => {
    if (Array.isArray(value)) return items !== undefined && fillItems(value, items);
    return members !== undefined && isJsonObject(value) && members(value);
  };
}

/**
 * Sets defaults in an item of a list or a value of a map. If the value is a null that is not allowed, it is replaced by
 * its default.
 */
type FillElement = (value: unknown, replace: (value: unknown) => void) => boolean;

function fillItems(list: unknown[], fill: FillElement): boolean {
  let hasChanged = false;
  for (let index = 0; index < list.length; index++)
    hasChanged =
      fill(list[index], (item) => {
        list[index] = item;
      }) || hasChanged;
  return hasChanged;
}

function compileMembers(schema: StructuralSchema): ((object: JsonObject) => boolean) | undefined {
  const own: [name: string, property: StructuralSchema][] = [];
  const below: [name: string, fill: Fill][] = [];
  for (const [name, property] of schema.properties) {
    if (property.default !== undefined) own.push([name, property]);
    const fill = compileDefaults(property);
    if (fill !== undefined) below.push([name, fill]);
  }
  const { additionalProperties, properties } = schema;
  const others = compileElement(typeof additionalProperties === "object" ? additionalProperties : undefined);
  if (own.length === 0 && below.length === 0 && others === undefined) return undefined;
  return (object) => {
    let hasChanged = false;
    for (const [name, property] of own) {
      if (Object.hasOwn(object, name) && !isForbiddenNull(object[name], property)) continue;
      setMember(object, name, cloneJson(property.default));
      hasChanged = true;
    }
    for (const [name, fill] of below) if (Object.hasOwn(object, name)) hasChanged = fill(object[name]) || hasChanged;
    if (others === undefined) return hasChanged;
    for (const name of Object.keys(object))
      if (!properties.has(name))
        hasChanged = others(object[name], (value) => setMember(object, name, value)) || hasChanged;
    return hasChanged;
  };
}

/** Items and map values are never absent, so their default only replaces a null that is not allowed. */
function compileElement(schema: StructuralSchema | undefined): FillElement | undefined {
  if (schema === undefined) return undefined;
  const fill = compileDefaults(schema);
  if (fill === undefined && schema.default === undefined) return undefined;
  return (value, replace) => {
    if (schema.default === undefined || !isForbiddenNull(value, schema)) return fill?.(value) === true;
    const replacement = cloneJson(schema.default);
    fill?.(replacement);
    replace(replacement);
    return true;
  };
}

/**
 * Removes null values of specified fields in place, unless the schema allows null or has a default for the field.
 * Returns whether the value has changed.
 */
export function dropNulls(value: unknown, schema: StructuralSchema | undefined): boolean {
  if (schema === undefined || typeof value !== "object" || value === null) return false;
  if (!Array.isArray(value)) return dropNullMembers(value as JsonObject, schema);
  let hasChanged = false;
  if (schema.items !== undefined) for (const item of value) hasChanged = dropNulls(item, schema.items) || hasChanged;
  return hasChanged;
}

function dropNullMembers(object: JsonObject, schema: StructuralSchema): boolean {
  const { properties, additionalProperties } = schema;
  const others = typeof additionalProperties === "object" ? additionalProperties : undefined;
  if (properties.size === 0 && others === undefined) return false;
  let hasChanged = false;
  for (const name of Object.keys(object)) {
    const member = properties.get(name) ?? others;
    if (member === undefined) continue;
    const value = object[name];
    if (value !== null) hasChanged = dropNulls(value, member) || hasChanged;
    else if (!member.nullable && member.default === undefined) {
      delete object[name];
      hasChanged = true;
    }
  }
  return hasChanged;
}

function isForbiddenNull(value: unknown, { nullable }: StructuralSchema): boolean {
  return value === null && !nullable;
}

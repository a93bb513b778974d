/**
 * Computes the fields that the creator of an object owns, as the JSON text of their fieldsV1. The result equals that of
 * `changedFields` for an empty object and the new one, but is cheaper, because it needs only one walk over the new
 * object.
 */
import { isJsonObject, jsonEquals, type JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { absentValue, type AbsentFields } from "./absent-fields.ts";
import type { FieldChildren, FieldSet } from "./field-set.ts";
import { compareElementKeys, fieldKey } from "./path-element.ts";
import { isAtomicMap, itemKey, itemSchema, listKeys, memberSchema, rootSchema } from "./shape.ts";

/**
 * Undefined if the creator owns no field. Does not include untracked fields, the fields below them, and their parents.
 */
export function createdFields(
  object: JsonObject,
  schema: StructSchema,
  { absent, untracked }: { readonly absent: AbsentFields; readonly untracked: FieldSet },
): string | undefined {
  return membersOf(object, { schema: rootSchema(schema), absent, untracked: untracked.children });
}

const OWNED = "{}";
const OWNED_ITSELF = '".":{}';

interface Place {
  readonly schema: FieldSchema;
  readonly absent: AbsentFields;
  readonly untracked: FieldChildren | undefined;
}

/** The new fields of an object that counts as existing, so that the object itself is not owned. */
function membersOf(object: JsonObject, { schema, absent, untracked }: Place): string | undefined {
  let text = "";
  for (const name of sortedNames(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const exception = untracked?.get(fieldKey(name));
    if (exception !== undefined && exception.children === undefined) continue;
    const before = absentValue({ struct: schema.struct, name, present: value, absent });
    const place: Place = { schema: memberSchema(schema, name), absent, untracked: exception?.children };
    const isNew = before === undefined && exception === undefined;
    const below = isNew ? whole(value, place.schema) : changeFrom(before, value, place);
    if (below !== undefined) text += `${text === "" ? "" : ","}${fieldKeyText(name)}:${below}`;
  }
  return text === "" ? undefined : `{${text}}`;
}

/** The owned fields of a value whose field was absent, and therefore counted as having the value `before`. */
function changeFrom(before: unknown, value: unknown, place: Place): string | undefined {
  if (Array.isArray(value)) {
    const keys = listKeys(place.schema);
    if (keys !== undefined && value.length > 0) return `{${itemsText(value, place.schema, keys)}}`;
  } else if (isJsonObject(value) && !isAtomicMap(place.schema) && Object.keys(value).length > 0) {
    return membersOf(value, place);
  }
  return place.untracked !== undefined || jsonEquals(before, value) ? undefined : OWNED;
}

/** The value itself and everything below it. */
function whole(value: unknown, schema: FieldSchema): string {
  if (Array.isArray(value)) {
    const keys = listKeys(schema);
    if (keys === undefined || value.length === 0) return OWNED;
    return `{${OWNED_ITSELF},${itemsText(value, schema, keys)}}`;
  }
  if (!isJsonObject(value) || isAtomicMap(schema)) return OWNED;
  let text = "";
  for (const name of sortedNames(value)) {
    const member = value[name];
    if (member !== undefined) text += `,${fieldKeyText(name)}:${whole(member, memberSchema(schema, name))}`;
  }
  return text === "" ? OWNED : `{${OWNED_ITSELF}${text}}`;
}

function itemsText(list: readonly unknown[], schema: FieldSchema, keys: readonly string[]): string {
  const below = itemSchema(schema);
  const items = new Map<string, string>();
  for (const item of list) {
    const key = itemKey(item, schema, keys);
    // Items that share a key are owned together.
    items.set(key, items.has(key) ? OWNED : whole(item, below));
  }
  let text = "";
  for (const key of [...items.keys()].sort(compareElementKeys))
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${items.get(key)!}`;
  return text;
}

/** Matches nearly all names. JSON encodes a matching name unchanged. */
const PLAIN = /^[\w./-]*$/;

function fieldKeyText(name: string): string {
  return PLAIN.test(name) ? `"f:${name}"` : JSON.stringify(fieldKey(name));
}

/** The names of the fields, in the order of their keys in fieldsV1. */
function sortedNames(object: JsonObject): string[] {
  const names = Object.keys(object);
  for (let index = 1; index < names.length; index++) if (names[index - 1]! > names[index]!) return names.sort();
  return names;
}

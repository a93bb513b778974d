/** Validates that lists of type set contain no item twice, and lists of type map no key twice. */
import { isJsonObject, ownMember, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { StructuralSchema } from "../schema.ts";
import { shownValue } from "./go-values.ts";
import { sortedGoJson } from "../../../../meta/go-json.ts";

type ListTypeCheck = (value: unknown, path: string) => Generator<FieldError>;

export function* listTypeErrors(object: unknown, schema: StructuralSchema): Generator<FieldError> {
  const check = compileListTypes(schema);
  if (check !== undefined) yield* check(object, "");
}

/** Undefined if the schema has no lists of type set or map. */
export function compileListTypes(schema: StructuralSchema): ListTypeCheck | undefined {
  const members = new Map<string, ListTypeCheck>();
  for (const [name, property] of schema.properties) {
    const check = compileListTypes(property);
    if (check !== undefined) members.set(name, check);
  }
  const { additionalProperties } = schema;
  const others = typeof additionalProperties === "object" ? compileListTypes(additionalProperties) : undefined;
  const item = schema.items === undefined ? undefined : compileListTypes(schema.items);
  const own = ownCheck(schema);
  if (members.size === 0 && others === undefined && item === undefined && own === undefined) return undefined;
  return function* check(value, path) {
    if (Array.isArray(value)) {
      if (own !== undefined) yield* own(value, path);
      if (item !== undefined) yield* eachErrors(value.entries(), path, item);
    } else if (isJsonObject(value)) {
      if (others !== undefined) yield* eachErrors(Object.entries(value), path, others);
      for (const [name, member] of members)
        if (Object.hasOwn(value, name)) yield* member(value[name], path === "" ? name : `${path}.${name}`);
    }
  };
}

function* eachErrors(
  entries: Iterable<[string | number, unknown]>,
  path: string,
  check: ListTypeCheck,
): Generator<FieldError> {
  for (const [key, value] of entries) if (isCompound(value)) yield* check(value, `${path}[${key}]`);
}

function isCompound(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function ownCheck({ listType, listMapKeys }: StructuralSchema) {
  if (listType === "set") return duplicateItemErrors;
  if (listType !== "map") return undefined;
  return (list: readonly unknown[], path: string) => mapErrors(list, path, listMapKeys);
}

function* duplicateItemErrors(list: readonly unknown[], path: string): Generator<FieldError> {
  for (const index of duplicates(list)) yield duplicateError(`${path}[${index}]`, list[index]);
}

function* mapErrors(list: readonly unknown[], path: string, keys: readonly string[]): Generator<FieldError> {
  const strange = list.findIndex((item) => item !== null && !isJsonObject(item));
  if (strange >= 0) {
    const message = `Invalid value: ${shownValue(list[strange])}: must be an object for an array of list-type map`;
    yield { field: `${path}[${strange}]`, reason: "FieldValueInvalid", message };
    return;
  }
  const [single] = keys;
  const isSingle = single !== undefined && keys.length === 1;
  const identities = isSingle
    ? list.map((item) => ownMember(item, single))
    : list.map((item) => keyMembers(item, keys));
  for (const index of duplicates(identities)) yield duplicateError(`${path}[${index}]`, keyMembers(list[index], keys));
}

/**
 * Returns the indexes of duplicates. If an item occurs more than twice, only the second occurrence is
 * reported.
 */
function* duplicates(items: readonly unknown[]): Generator<number> {
  const scalars = new Map<unknown, number>();
  const compounds = new Map<string, number>();
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    const count = isCompound(item) ? counted(compounds, sortedGoJson(item)) : counted(scalars, item);
    if (count === 2) yield index;
  }
}

function counted<Key>(counts: Map<Key, number>, key: Key): number {
  const count = (counts.get(key) ?? 0) + 1;
  counts.set(key, count);
  return count;
}

function keyMembers(item: unknown, keys: readonly string[]): JsonObject {
  const members = keys.map((key) => [key, ownMember(item, key)] as const);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

function duplicateError(field: string, value: unknown): FieldError {
  return { field, reason: "FieldValueDuplicate", message: `Duplicate value: ${shownValue(value)}` };
}

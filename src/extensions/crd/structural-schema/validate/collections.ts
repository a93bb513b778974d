/** Validates lists and objects, together with their items and fields. */
import { ownMember, type JsonObject } from "../../../../meta/json.ts";
import type { StructuralSchema } from "../schema.ts";
import { existingItems } from "./correlate.ts";
import { sortedGoJson } from "../../../../meta/go-json.ts";
import type { SchemaCheck } from "./compile.ts";
import type { ValidatedSchema } from "./node.ts";
import type { Walk } from "./walk.ts";

/** `ListCheck` and `ObjectCheck` return how well the content matches (see `SchemaCheck`). */
export type ListCheck = (list: readonly unknown[], walk: Walk, existing: unknown) => number;
export type ObjectCheck = (object: JsonObject, walk: Walk, existing: unknown) => number;

export function compileList({ value, structural }: ValidatedSchema, checkItem: SchemaCheck | undefined): ListCheck {
  const { minItems, maxItems, uniqueItems } = value;
  return (list, walk, existing) => {
    const matches = checkItem === undefined ? 0 : itemMatches(list, { checkItem, walk, existing, structural });
    const count = list.length;
    if (minItems !== undefined && count < minItems) walk.invalid(`should have at least ${minItems} items`, count);
    if (maxItems !== undefined && count > maxItems) walk.tooMany("items", count, maxItems);
    if (uniqueItems && hasDuplicates(list)) walk.invalid("shouldn't contain duplicates", "");
    return matches;
  };
}

interface ItemWalk {
  readonly checkItem: SchemaCheck;
  readonly walk: Walk;
  readonly existing: unknown;
  readonly structural: StructuralSchema | undefined;
}

function itemMatches(list: readonly unknown[], { checkItem, walk, existing, structural }: ItemWalk): number {
  const existingItem =
    existing === undefined || structural === undefined ? undefined : existingItems(existing, structural);
  let matches = 0;
  for (let index = 0; index < list.length && !walk.isFull; index++) {
    const item = list[index];
    walk.enter(index);
    matches += checkItem(item, walk, existingItem?.(item));
    walk.leave();
  }
  return matches;
}

function hasDuplicates(list: readonly unknown[]): boolean {
  return new Set(list.map(sortedGoJson)).size < list.length;
}

export interface MemberChecks {
  readonly properties: ReadonlyMap<string, SchemaCheck>;
  /**
   * Check of all fields that are not in `properties`; false if such fields are not allowed, undefined if they are not
   * checked.
   */
  readonly additional: SchemaCheck | false | undefined;
}

export function compileObject({ value }: ValidatedSchema, members: MemberChecks): ObjectCheck {
  const { minProperties, maxProperties, required } = value;
  const hasMemberChecks = members.properties.size > 0 || members.additional !== undefined;
  return (object, walk, existing) => {
    if (minProperties !== undefined || maxProperties !== undefined) {
      const count = Object.keys(object).length;
      if (minProperties !== undefined && count < minProperties)
        walk.invalid(`should have at least ${minProperties} properties`, count);
      if (maxProperties !== undefined && count > maxProperties) walk.tooMany("properties", count, maxProperties);
    }
    const matches = hasMemberChecks ? memberMatches(object, { members, walk, existing }) : 0;
    for (const name of required) if (!Object.hasOwn(object, name)) walk.required(name);
    return matches;
  };
}

interface MemberWalk {
  readonly members: MemberChecks;
  readonly walk: Walk;
  readonly existing: unknown;
}

function memberMatches(object: JsonObject, { members, walk, existing }: MemberWalk): number {
  let matches = 0;
  for (const name of Object.keys(object)) {
    if (walk.isFull) break;
    const property = members.properties.get(name);
    const check = property ?? members.additional;
    if (check === undefined) continue;
    if (check === false) {
      walk.forbidden(name);
      continue;
    }
    const { isAtRoot } = walk;
    const before = isAtRoot && TYPE_META.has(name) ? undefined : ownMember(existing, name);
    walk.enter(property === undefined && isAtRoot ? `.${name}` : name);
    matches += check(object[name], walk, before);
    walk.leave();
  }
  return matches;
}

/**
 * These fields are never treated as unchanged at the root: the existing object was converted to the API version of the
 * new one, so they are always equal.
 */
const TYPE_META: ReadonlySet<string> = new Set(["apiVersion", "kind"]);

/**
 * Computes field sets of objects by their schema: the fields of an object, and the fields that differ between two
 * objects.
 */
import { isJsonObject, jsonEquals, type JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { absentValue, type AbsentFields } from "./absent-fields.ts";
import { FieldSet, LEAF, type FieldChildren, type FieldNode } from "./field-set.ts";
import { fieldKey } from "./path-element.ts";
import { isAtomicMap, isDeclaredMember, itemKey, itemSchema, listKeys, memberSchema, rootSchema } from "./shape.ts";

/**
 * The fields of an applied object: its leaves, every item of an associative list and every entry of a map. Structs and
 * lists themselves are not included.
 */
export function fieldsOf(object: JsonObject, schema: StructSchema): FieldSet {
  return FieldSet.fromChildren(leafMembers(object, rootSchema(schema)));
}

function leafMembers(object: JsonObject, schema: FieldSchema): FieldChildren | undefined {
  const children = new Map<string, FieldNode>();
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const node = leafNode(value, memberSchema(schema, name), !isDeclaredMember(schema, name) || isEmptyMap(value));
    if (node !== undefined) children.set(fieldKey(name), node);
  }
  return children.size === 0 ? undefined : children;
}

function isEmptyMap(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** `member`: whether the path of the value itself is in the set, regardless of its children. */
function leafNode(value: unknown, schema: FieldSchema, member: boolean): FieldNode | undefined {
  if (isJsonObject(value) && !isAtomicMap(schema)) return nodeOf(member, leafMembers(value, schema));
  const keys = listKeys(schema);
  if (!Array.isArray(value) || keys === undefined) return LEAF;
  const children = new Map<string, FieldNode>();
  for (const [key, items] of itemsByKey(value, schema, keys)) {
    children.set(key, items.length > 1 ? LEAF : leafNode(items[0], itemSchema(schema), true)!);
  }
  return nodeOf(member, children.size === 0 ? undefined : children);
}

function nodeOf(member: boolean, children: FieldChildren | undefined): FieldNode | undefined {
  if (children === undefined) return member ? LEAF : undefined;
  return { member, children };
}

export interface ChangedFields {
  /** Fields that were added or whose value has changed. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/**
 * The fields that differ between two objects. An added or removed value is included with everything below it. A path is
 * in both sets only if it is a list item key that one item has in one object and several items have in the other.
 */
export function changedFields(
  before: JsonObject,
  after: JsonObject,
  schema: StructSchema,
  absent: AbsentFields,
): ChangedFields {
  const root = new Place(undefined, "");
  compareMaps(before, after, { schema: rootSchema(schema), place: root, absent });
  return { changed: FieldSet.fromChildren(root.changedBelow), removed: FieldSet.fromChildren(root.removedBelow) };
}

/** A path in both objects. It adds nodes to the results only if a value below it differs. */
class Place {
  readonly #parent: Place | undefined;
  readonly #key: string;
  changedBelow: Map<string, FieldNode> | undefined;
  removedBelow: Map<string, FieldNode> | undefined;

  constructor(parent: Place | undefined, key: string) {
    this.#parent = parent;
    this.#key = key;
  }

  changed(key: string, node: FieldNode): void {
    put(this.#changedChildren(), key, node);
  }

  removed(key: string, node: FieldNode): void {
    put(this.#removedChildren(), key, node);
  }

  #changedChildren(): Map<string, FieldNode> {
    if (this.changedBelow === undefined) {
      this.changedBelow = new Map();
      this.#parent?.changed(this.#key, { member: false, children: this.changedBelow });
    }
    return this.changedBelow;
  }

  #removedChildren(): Map<string, FieldNode> {
    if (this.removedBelow === undefined) {
      this.removedBelow = new Map();
      this.#parent?.removed(this.#key, { member: false, children: this.removedBelow });
    }
    return this.removedBelow;
  }
}

/**
 * Adds a node. Merges it with an existing node of the key, because a value that becomes a map is recorded twice: its
 * new fields, and the value itself.
 */
function put(children: Map<string, FieldNode>, key: string, node: FieldNode): void {
  const known = children.get(key);
  children.set(
    key,
    known === undefined ? node : { member: known.member || node.member, children: known.children ?? node.children },
  );
}

interface Comparison {
  readonly schema: FieldSchema;
  readonly place: Place;
  readonly absent: AbsentFields;
}

function compareMaps(before: JsonObject, after: JsonObject, at: Comparison): void {
  for (const name of Object.keys(after)) {
    const now = after[name];
    const then = Object.hasOwn(before, name) ? before[name] : undefined;
    if (now === then || now === undefined) continue;
    const member = memberSchema(at.schema, name);
    const known =
      then === undefined ? absentValue({ struct: at.schema.struct, name, present: now, absent: at.absent }) : then;
    compareValues(known, now, { schema: member, place: at.place, absent: at.absent, key: fieldKey(name) });
  }
  for (const name of Object.keys(before)) {
    const then = before[name];
    if (then === undefined || (Object.hasOwn(after, name) && after[name] !== undefined)) continue;
    const member = memberSchema(at.schema, name);
    const known = absentValue({ struct: at.schema.struct, name, present: then, absent: at.absent });
    compareValues(then, known, { schema: member, place: at.place, absent: at.absent, key: fieldKey(name) });
  }
}

interface MemberComparison extends Comparison {
  /** The key of the value within `place`. */
  readonly key: string;
}

function compareValues(before: unknown, after: unknown, at: MemberComparison): void {
  if (before === after) return;
  if (before === undefined) at.place.changed(at.key, wholeNode(after, at.schema));
  else if (after === undefined) at.place.removed(at.key, wholeNode(before, at.schema));
  else if (isParted(before, at.schema) || isParted(after, at.schema)) compareParts(before, after, at);
  else if (!jsonEquals(before, after)) at.place.changed(at.key, LEAF);
}

/** Whether a value is not empty and is owned by its fields or items. */
function isParted(value: unknown, schema: FieldSchema): boolean {
  if (Array.isArray(value)) return value.length > 0 && listKeys(schema) !== undefined;
  return isJsonObject(value) && !isAtomicMap(schema) && Object.keys(value).length > 0;
}

function compareParts(before: unknown, after: unknown, at: MemberComparison): void {
  const below: Comparison = { schema: at.schema, place: new Place(at.place, at.key), absent: at.absent };
  if (isListOrNothing(before) && isListOrNothing(after)) return compareLists(before ?? [], after ?? [], below);
  if (isMapOrNothing(before) && isMapOrNothing(after)) return compareMaps(before ?? {}, after ?? {}, below);
  // A map can become a scalar or a list only where the schema allows any value.
  if (isParted(before, at.schema) && isJsonObject(before)) compareMaps(before, {}, below);
  if (isParted(after, at.schema) && isJsonObject(after)) compareMaps({}, after, below);
  at.place.changed(at.key, LEAF);
}

function isListOrNothing(value: unknown): value is readonly unknown[] | null {
  return value === null || Array.isArray(value);
}

function isMapOrNothing(value: unknown): value is JsonObject | null {
  return value === null || isJsonObject(value);
}

function compareLists(before: readonly unknown[], after: readonly unknown[], at: Comparison): void {
  // Lists are mostly equal, and a comparison is cheaper than computing the keys of their items.
  if (jsonEquals(before, after)) return;
  const keys = listKeys(at.schema) ?? [];
  const then = itemsByKey(before, at.schema, keys);
  const now = itemsByKey(after, at.schema, keys);
  const below = { schema: itemSchema(at.schema), place: at.place, absent: at.absent };
  for (const [key, items] of now) compareItems(then.get(key) ?? [], items, { ...below, key });
  for (const [key, items] of then) if (!now.has(key)) compareItems(items, [], { ...below, key });
}

/** Items with the same key are owned together: if several items have a key, only the key itself is tracked. */
function compareItems(before: readonly unknown[], after: readonly unknown[], at: MemberComparison): void {
  if (before.length <= 1 && after.length <= 1) return compareValues(before[0], after[0], at);
  if (before.length > 1 && after.length > 1) {
    if (!jsonEquals(before, after)) at.place.changed(at.key, LEAF);
  } else if (before.length > 1) {
    if (after.length > 0) compareValues(undefined, after[0], at);
    at.place.removed(at.key, LEAF);
  } else {
    if (before.length > 0) compareValues(before[0], undefined, at);
    at.place.changed(at.key, LEAF);
  }
}

function itemsByKey(list: readonly unknown[], schema: FieldSchema, keys: readonly string[]): Map<string, unknown[]> {
  const items = new Map<string, unknown[]>();
  for (const item of list) {
    const key = itemKey(item, schema, keys);
    const known = items.get(key);
    if (known === undefined) items.set(key, [item]);
    else known.push(item);
  }
  return items;
}

/** The value itself and everything below it. */
function wholeNode(value: unknown, schema: FieldSchema): FieldNode {
  if (!isParted(value, schema)) return LEAF;
  const children = new Map<string, FieldNode>();
  if (Array.isArray(value)) {
    const items = itemSchema(schema);
    for (const [key, same] of itemsByKey(value, schema, listKeys(schema) ?? [])) {
      children.set(key, same.length > 1 ? LEAF : wholeNode(same[0], items));
    }
  } else {
    const object = value as JsonObject;
    for (const name of Object.keys(object)) {
      if (object[name] !== undefined) children.set(fieldKey(name), wholeNode(object[name], memberSchema(schema, name)));
    }
  }
  return children.size === 0 ? LEAF : { member: true, children };
}

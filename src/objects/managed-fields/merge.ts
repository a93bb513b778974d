/**
 * Merges an applied object into the live one: applied values replace live values, and fields that are not applied keep
 * their live value. Lists whose items have keys are merged by key, in the order of the applied list as far as possible.
 *
 * Neither input is changed; the result shares values with both, and is the live object itself if nothing differs.
 */
import { isJsonObject, jsonEquals, setMember, type JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { isAtomicMap, itemKey, itemSchema, listKeys, memberSchema, rootSchema } from "./shape.ts";

/** Requires that no two items of a list in `applied` have the same key. */
export function mergeObjects(live: JsonObject, applied: JsonObject, schema: StructSchema): JsonObject {
  return mergeMaps(live, applied, rootSchema(schema));
}

function mergeMaps(live: JsonObject, applied: JsonObject, schema: FieldSchema): JsonObject {
  let merged = live;
  for (const name of Object.keys(applied)) {
    const value = applied[name];
    if (value === undefined) continue;
    const before = Object.hasOwn(live, name) ? live[name] : undefined;
    const after = mergeValues(before, value, memberSchema(schema, name));
    if (after === before) continue;
    if (merged === live) merged = { ...live };
    setMember(merged, name, after);
  }
  return merged;
}

function mergeValues(live: unknown, applied: unknown, schema: FieldSchema): unknown {
  if (live === undefined || live === applied) return applied;
  if (applied === null) return isHeldByParts(live, schema) ? live : null;
  if (isJsonObject(live) && isJsonObject(applied) && !isAtomicMap(schema)) return mergeMaps(live, applied, schema);
  if (Array.isArray(live) && Array.isArray(applied)) {
    const keys = listKeys(schema);
    if (keys !== undefined && live.length > 0)
      return applied.length === 0 ? live : mergeLists(live, applied, { schema, keys });
  }
  return jsonEquals(live, applied) ? live : applied;
}

/** Whether the value is a map or list whose items are owned separately, so that an applied null leaves it unchanged. */
function isHeldByParts(value: unknown, schema: FieldSchema): boolean {
  if (Array.isArray(value)) return value.length > 0 && listKeys(schema) !== undefined;
  return isJsonObject(value) && Object.keys(value).length > 0 && !isAtomicMap(schema);
}

interface ListShape {
  readonly schema: FieldSchema;
  readonly keys: readonly string[];
}

/**
 * Walks both lists at once. An item that is only in the live list keeps its position between its neighbors; an item in
 * both lists has its position in the applied list.
 */
function mergeLists(live: readonly unknown[], applied: readonly unknown[], shape: ListShape): readonly unknown[] {
  const before = keyedItems(live, shape);
  const wanted = keyedItems(applied, shape);
  const shared = wanted.order.filter((key) => before.items.has(key));
  const items = itemSchema(shape.schema);
  const merged: unknown[] = [];
  let nextShared = 0;
  let at = 0;
  for (const key of wanted.order) {
    for (; at < live.length && before.order[at] !== key; at++) {
      const here = before.order[at]!;
      if (!wanted.items.has(here)) {
        merged.push(live[at]);
      } else if (nextShared === shared.length) {
        // Skip the live item, because it has been merged at another position.
        at++;
        break;
      } else if (shared[nextShared] === here) break;
    }
    // If several live items have the key, the applied item replaces all of them.
    merged.push(mergeValues(before.items.get(key), wanted.items.get(key), items));
    if (shared[nextShared] === key) nextShared++;
    if (before.order[at] === key) at++;
  }
  for (; at < live.length; at++) if (!wanted.items.has(before.order[at]!)) merged.push(live[at]);
  return merged.length === live.length && merged.every((item, index) => item === live[index]) ? live : merged;
}

interface KeyedItems {
  /** The keys of the items, in the order of the list. */
  readonly order: readonly string[];
  /** Keyed by item key; undefined if several items have the key. */
  readonly items: ReadonlyMap<string, unknown>;
}

function keyedItems(list: readonly unknown[], { schema, keys }: ListShape): KeyedItems {
  const items = new Map<string, unknown>();
  const order = list.map((item) => itemKey(item, schema, keys));
  order.forEach((key, index) => items.set(key, items.has(key) ? undefined : list[index]));
  return { order, items };
}

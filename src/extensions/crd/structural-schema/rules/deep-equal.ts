/** Equality of values that no schema describes, however deeply they nest. */
import { isJsonObject, type JsonObject } from "../../../../meta/json.ts";

type Pair = readonly [unknown, unknown];

function memberPairs(left: JsonObject, right: JsonObject): readonly Pair[] | undefined {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length || !names.every((name) => Object.hasOwn(right, name)))
    return undefined;
  return names.map((name) => [left[name], right[name]]);
}

/** What remains to be compared; undefined when they differ. */
function partsOf(left: unknown, right: unknown): readonly Pair[] | undefined {
  if (left === right) return [];
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length ? left.map((item, index): Pair => [item, right[index]]) : undefined;
  return isJsonObject(left) && isJsonObject(right) ? memberPairs(left, right) : undefined;
}

export function deepEquals(left: unknown, right: unknown): boolean {
  const waiting: Pair[] = [[left, right]];
  for (let pair = waiting.pop(); pair !== undefined; pair = waiting.pop()) {
    const parts = partsOf(pair[0], pair[1]);
    if (parts === undefined) return false;
    for (const part of parts) waiting.push(part);
  }
  return true;
}

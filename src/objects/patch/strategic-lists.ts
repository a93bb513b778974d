/** Merges lists in a strategic merge patch: decides which items are kept, which are merged, and their order. */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { goType } from "../../meta/go-fmt.ts";
import {
  badArgType,
  badFormat,
  badPatchType,
  internal,
  noListOfLists,
  noMergeKey,
  printed,
} from "./strategic-error.ts";

export const PATCH_DIRECTIVE = "$patch";
export const ELEMENT_ORDER_DIRECTIVE = "$setElementOrder";

export interface ListRules {
  /** The field that identifies an item; empty for lists of scalars. */
  readonly mergeKey: string;
  /** Go's name for the kind of the items, for messages. */
  readonly itemKind: string;
  readonly mergeItems: (original: JsonObject, patch: JsonObject) => JsonObject;
}

export interface MergedList {
  readonly items: unknown[];
  /**
   * The order of the items before the patch, by which `orderElements` sorts the items that the patch does not order.
   */
  readonly serverOrder: readonly unknown[];
}

type List = readonly unknown[];

export function mergeLists(original: List, patch: List, rules: ListRules): MergedList {
  if (original.length === 0 && patch.length === 0) return { items: [], serverOrder: [] };
  const { mergeKey } = rules;
  if (elementKind(original, patch) === "scalar") {
    if (mergeKey !== "") throw badArgType("map[string]interface {}", original[0] ?? patch[0]);
    const orders = { patchOrder: positions(patch, itself), serverOrder: positions(original, itself), keyOf: itself };
    return { items: inOrder([...new Set([...original, ...patch])], orders), serverOrder: original };
  }
  if (mergeKey === "") throw internal(`cannot merge lists without merge key for ${rules.itemKind}`);
  return mergeKeyed(original as JsonObject[], patch as JsonObject[], rules);
}

/** Removes from the list the items of a `$deleteFromPrimitiveList` directive. */
export function deleteFromList(original: List, deleted: List, rules: ListRules): unknown[] {
  if (original.length === 0 && deleted.length === 0) return [];
  if (elementKind(original, deleted) === "map") return mergeLists(original, deleted, rules).items;
  const gone = new Set(deleted);
  return original.filter((item) => !gone.has(item));
}

function mergeKeyed(before: readonly JsonObject[], patch: readonly JsonObject[], rules: ListRules): MergedList {
  const { mergeKey, mergeItems } = rules;
  const { kept, merging, isReplaced } = settleDirectives(before, patch, mergeKey);
  const keyOf = mergeKeyOf(mergeKey);
  const merged = [...kept];
  const known = new Map<unknown, number>();
  kept.forEach((item, index) => {
    if (Object.hasOwn(item, mergeKey) && !known.has(item[mergeKey])) known.set(item[mergeKey], index);
  });
  for (const item of merging) {
    const key = keyOf(item);
    const index = known.get(key);
    const same = index === undefined ? undefined : merged[index];
    if (index === undefined || same === undefined) known.set(key, merged.push(item) - 1);
    else merged[index] = mergeItems(same, item);
  }
  const items = inOrder(merged, {
    patchOrder: positions(merging, keyOf),
    serverOrder: positions(kept, keyOf),
    keyOf,
  });
  if (isReplaced) return { items, serverOrder: before };
  // As kubernetes: because Go's slices share memory, new items count as having been at the positions of deleted items.
  // Clients see the resulting order.
  return { items, serverOrder: [...kept, ...merged.slice(kept.length)].slice(0, before.length) };
}

interface Settled {
  readonly kept: readonly JsonObject[];
  readonly merging: readonly JsonObject[];
  readonly isReplaced: boolean;
}

/** Applies the items of the patch that have a directive, and returns the remaining items of the patch. */
function settleDirectives(original: readonly JsonObject[], patch: readonly JsonObject[], mergeKey: string): Settled {
  const merging: JsonObject[] = [];
  const deleted = new Set<unknown>();
  let isReplaced = false;
  for (const item of patch) {
    if (!hasDirective(item)) {
      merging.push(item);
      continue;
    }
    const directive = item[PATCH_DIRECTIVE];
    if (directive === "delete") deleted.add(mergeKeyOf(mergeKey)(item));
    else if (directive === "replace") isReplaced = true;
    else if (directive === "merge") throw internal("merging lists cannot yet be specified in the patch");
    else throw badPatchType(directive, item);
  }
  if (isReplaced) return { kept: merging, merging: [], isReplaced };
  const kept = original.filter((item) => !Object.hasOwn(item, mergeKey) || !deleted.has(item[mergeKey]));
  return { kept, merging, isReplaced };
}

export function hasDirective(value: unknown): boolean {
  return isJsonObject(value) && Object.hasOwn(value, PATCH_DIRECTIVE);
}

/** The kind of all items. Throws if they have different types, or if they are lists. */
function elementKind(...lists: readonly List[]): "map" | "scalar" {
  const items = lists.flatMap((list) => [...list]);
  if (items.length === 0) throw internal("no elements in any of the given slices");
  if (Array.isArray(items[0])) throw noListOfLists();
  const first = goType(items[0]);
  if (items.some((item) => goType(item) !== first))
    throw internal(`list element types are not identical: ${printed(lists)}`);
  return first === "map[string]interface {}" ? "map" : "scalar";
}

interface ElementOrder {
  readonly original: List;
  readonly patch: List;
  readonly order: List;
  readonly serverOrder: List;
  readonly mergeKey: string;
}

/**
 * Sorts the merged items in the order that the patch requests. Items that the patch does not name keep their position.
 */
export function orderElements(merged: readonly unknown[], how: ElementOrder): unknown[] {
  const { original, patch, order, serverOrder, mergeKey } = how;
  if (mergeKey !== "" && merged.length > 0) {
    merged.forEach(mergeKeyOf(mergeKey));
    const nonMap = order.findIndex((item) => !isJsonObject(item));
    if (nonMap >= 0) throw internal(`value for key ${nonMap} is not a map`);
  }
  const isScalar = elementKind(original, patch) === "scalar";
  const keyOf = isScalar && mergeKey === "" ? itself : mergeKeyOf(mergeKey);
  return inOrder(merged, {
    patchOrder: positions(order, keyOf),
    serverOrder: positions(serverOrder, keyOf),
    keyOf,
  });
}

/** Throws if the items of the patch are not in the order that the patch requests. */
export function checkElementOrder(patch: List, order: List, mergeKey: string): void {
  if (patch.length === 0 || order.length === 0) return;
  const other = patch.find((item) => !isJsonObject(item));
  if (mergeKey !== "" && other !== undefined) throw badArgType("map[string]interface {}", other);
  const keyOf = mergeKey === "" ? itself : mergeKeyOf(mergeKey);
  const items = patch.filter((item) => mergeKey === "" || (item as JsonObject)[PATCH_DIRECTIVE] !== "delete");
  let at = 0;
  let place = 0;
  while (at < items.length && place < order.length) {
    if (hasDirective(items[at])) at++;
    else if (keyOf(items[at]) === keyOf(order[place++])) at++;
  }
  if (at >= items.length) return;
  throw internal(
    `The order in patch list:\n${printed(patch)}\n doesn't match ${ELEMENT_ORDER_DIRECTIVE} list:\n${printed(order)}\n`,
  );
}

/** The name of the list to which a directive such as `$setElementOrder/containers` applies. */
export function listNamed(directive: string, prefix: string): string {
  if (!directive.startsWith(`${prefix}/`))
    throw badFormat(prefix === ELEMENT_ORDER_DIRECTIVE ? "setElementOrder list" : "primitive list");
  return directive.slice(prefix.length + 1);
}

type KeyOf = (item: unknown) => unknown;

function itself(item: unknown): unknown {
  return item;
}

/** DIFFERS: a key that is an object or a list equals no other key; kube-apiserver panics. */
function mergeKeyOf(mergeKey: string): KeyOf {
  return (item) => {
    if (!isJsonObject(item)) throw badArgType("map[string]interface {}", item);
    if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
    return item[mergeKey];
  };
}

type Positions = ReadonlyMap<unknown, number>;

/** Maps each key to the position of the first item with that key. */
function positions(items: readonly unknown[], keyOf: KeyOf): Positions {
  const found = new Map<unknown, number>();
  items.forEach((item, index) => {
    const key = keyOf(item);
    if (!found.has(key)) found.set(key, index);
  });
  return found;
}

interface Orders {
  readonly patchOrder: Positions;
  readonly serverOrder: Positions;
  readonly keyOf: KeyOf;
}

/**
 * Items that the patch names are in the order of the patch, other items in their former order. An item that the patch
 * does not name precedes the first named item that followed it before, if there is one.
 */
function inOrder(items: readonly unknown[], { patchOrder, serverOrder, keyOf }: Orders): unknown[] {
  const named: Placed[] = [];
  const others: Placed[] = [];
  for (const item of items) {
    const key = keyOf(item);
    const inPatch = patchOrder.get(key);
    const inServer = serverOrder.get(key);
    if (inPatch === undefined) others.push({ item, place: inServer, inServer });
    else named.push({ item, place: inPatch, inServer });
  }
  const left = sorted(others);
  const all: unknown[] = [];
  let at = 0;
  for (const { item, inServer = -1 } of sorted(named)) {
    for (let next = left[at]; next !== undefined && (next.inServer ?? Infinity) < inServer; next = left[++at])
      all.push(next.item);
    all.push(item);
  }
  for (const { item } of left.slice(at)) all.push(item);
  return all;
}

interface Placed {
  readonly item: unknown;
  /** The position of the item in the order of the patch or of the server, whichever applies to the item. */
  readonly place: number | undefined;
  readonly inServer: number | undefined;
}

/** A stable sort. Items without a position come first, in reverse order, as Go's sort leaves them. */
function sorted(items: readonly Placed[]): readonly Placed[] {
  // An item without a position never compares as sorted.
  const placeOf = (item: Placed | undefined): number => item?.place ?? Number.NaN;
  const isSorted = items.every((item, index) => index === 0 || placeOf(item) >= placeOf(items[index - 1]));
  if (isSorted) return items;
  const placed = items.filter(({ place }) => place !== undefined);
  placed.sort((left, right) => placeOf(left) - placeOf(right));
  return [...items.filter(({ place }) => place === undefined).toReversed(), ...placed];
}

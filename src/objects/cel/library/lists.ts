/** List functions: those that Kubernetes adds to CEL, and those of newer CEL versions. */
import { compare } from "../values/order.ts";
import {
  ArrayList,
  CostLimitExceeded,
  Duration,
  equals,
  EvalError,
  ListValue,
  typeName,
  Uint,
  type Value,
} from "../values/value.ts";
import { overload, type Overload } from "./function.ts";
import { addValues } from "./operators.ts";

const COMPARABLE: readonly string[] = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];
/** The function that the expansion of the macro `sortBy` calls. */
const SORT_BY = "@sortByAssociatedKeys";
const ELEMENTS_MAX = 4_000_000;

function isSorted(list: ListValue): Value {
  const elements = list.elements();
  for (let index = 1; index < elements.length; index++)
    if (compare(elements[index - 1] ?? null, elements[index] ?? null) === 1) return false;
  return true;
}

function sumFrom(zero: Value): (list: ListValue) => Value {
  return (list) => {
    let sum = zero;
    for (const element of list.elements()) {
      sum = addValues(sum, element);
      if (sum instanceof EvalError) return sum;
    }
    return sum;
  };
}

/**
 * The maximum or minimum of the list. `beaten`: the result of `compare` with which a later element replaces the best
 * one so far, so that the first of equal elements is returned.
 */
function extreme(name: string, beaten: number): (list: ListValue) => Value {
  return (list) => {
    const [first, ...others] = list.elements();
    if (first === undefined) return new EvalError(`${name} called on empty list`);
    let best = first;
    for (const element of others) if (compare(best, element) === beaten) best = element;
    return best;
  };
}

function indexOf(list: ListValue, wanted: Value): Value {
  return BigInt(list.elements().findIndex((element) => equals(element, wanted) === true));
}

function lastIndexOf(list: ListValue, wanted: Value): Value {
  return BigInt(list.elements().findLastIndex((element) => equals(element, wanted) === true));
}

const SUMMABLE: readonly (readonly [string, Value])[] = [
  ["int", 0n],
  ["uint", new Uint(0n)],
  ["double", 0],
  ["duration", new Duration(0n)],
];

export const KUBERNETES_LISTS: readonly Overload[] = [
  ...COMPARABLE.map((type) => overload(`list_${type}_is_sorted_bool`, `list<${type}>.isSorted(): bool`, isSorted)),
  ...SUMMABLE.map(([type, zero]) =>
    overload(`list_${type}_sum_${type}`, `list<${type}>.sum(): ${type}`, sumFrom(zero)),
  ),
  ...COMPARABLE.map((type) => overload(`list_${type}_max_${type}`, `list<${type}>.max(): ${type}`, extreme("max", -1))),
  ...COMPARABLE.map((type) => overload(`list_${type}_min_${type}`, `list<${type}>.min(): ${type}`, extreme("min", 1))),
  overload("list_a_index_of_int", "list<A>.indexOf(A): int", indexOf),
  overload("list_a_last_index_of_int", "list<A>.lastIndexOf(A): int", lastIndexOf),
];

function slice(list: ListValue, start: bigint, end: bigint): Value {
  const failed = (why: string): EvalError => new EvalError(`cannot slice(${start}, ${end}), ${why}`);
  if (start < 0n || end < 0n) return failed("negative indexes not supported");
  if (start > end) return failed("start index must be less than or equal to end index");
  if (end > list.size) return failed(`list is length ${list.size}`);
  return new ArrayList(list.elements().slice(Number(start), Number(end)));
}

function flattened(list: ListValue, depth: bigint, into: Value[]): void {
  for (const element of list.elements()) {
    if (element instanceof ListValue && depth > 0n) flattened(element, depth - 1n, into);
    else into.push(element);
    if (into.length > ELEMENTS_MAX) throw new CostLimitExceeded();
  }
}

function flatten(list: ListValue, depth = 1n): Value {
  if (depth < 0n) return new EvalError("level must be non-negative");
  const into: Value[] = [];
  flattened(list, depth, into);
  return new ArrayList(into);
}

function sortedBy(list: ListValue, keys: ListValue): Value {
  if (list.size !== keys.size) {
    const what = "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got";
    return new EvalError(`${what} ${list.size} and ${keys.size} elements respectively`);
  }
  const all = keys.elements();
  const [first] = all;
  if (first === undefined) return list;
  if (compare(first, first) instanceof EvalError && !Number.isNaN(first))
    return new EvalError("list elements must be comparable");
  if (all.some((key) => typeName(key) !== typeName(first)))
    return new EvalError("list elements must have the same type");
  const order = all.map((_key, index) => index);
  order.sort((left, right) => {
    const result = compare(all[left] ?? null, all[right] ?? null);
    return typeof result === "number" ? result : 0;
  });
  return new ArrayList(order.map((index) => list.at(index)));
}

function range(count: bigint): Value {
  if (count > ELEMENTS_MAX) throw new CostLimitExceeded();
  return new ArrayList(Array.from({ length: Math.max(0, Number(count)) }, (_none, index) => BigInt(index)));
}

/** Takes quadratic time, which the cost of the call covers. */
function distinct(list: ListValue): Value {
  const kept: Value[] = [];
  for (const element of list.elements()) if (!kept.some((other) => equals(element, other) === true)) kept.push(element);
  return new ArrayList(kept);
}

function typeText(type: string): string {
  if (type === "duration") return "google.protobuf.Duration";
  return type === "timestamp" ? "google.protobuf.Timestamp" : type;
}

export const LISTS: readonly Overload[] = [
  overload("list_slice", "list<T>.slice(int, int): list<T>", slice),
  overload("list_flatten", "list<list<T>>.flatten(): list<T>", flatten),
  overload("list_flatten_int", "list<dyn>.flatten(int): list<dyn>", flatten),
  ...COMPARABLE.map((type) =>
    overload(`list_${typeText(type)}_sort`, `list<${type}>.sort(): list<${type}>`, (list: ListValue) =>
      sortedBy(list, list),
    ),
  ),
  ...COMPARABLE.map((type) => {
    const declared = overload(
      `list_${typeText(type)}_sortByAssociatedKeys`,
      `list<T>.sortByAssociatedKeys(list<${type}>): list<T>`,
      sortedBy,
    );
    return { ...declared, name: SORT_BY };
  }),
  overload("lists_range", ":lists.range(int): list<int>", range),
  overload(
    "list_reverse",
    "list<T>.reverse(): list<T>",
    (list: ListValue) => new ArrayList(list.elements().toReversed()),
  ),
  overload("list_distinct", "list<T>.distinct(): list<T>", distinct),
];

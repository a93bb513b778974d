/** Computes the runtime cost of a call from the sizes of its arguments. */
import { stringSize } from "../values/order.ts";
import { ListValue, MapValue, OpaqueValue, OptionalValue, type Value } from "../values/value.ts";

type ActualCost = (args: readonly Value[]) => number;

/** Cost per character of traversing a string. */
export const STRING_FACTOR = 0.1;
/** Cost per character of a regular expression. */
export const REGEX_FACTOR = 0.25;
const LIST_BASE = 10;
const STRUCT_BASE = 40;
/** Fixed cost, independent of the arguments. */
const ONE: ActualCost = () => 1;

function actualSize(value: Value | undefined): number {
  if (typeof value === "string") return stringSize(value);
  if (value instanceof ListValue || value instanceof MapValue || value instanceof OpaqueValue) return value.size;
  if (value instanceof Uint8Array) return value.length;
  return value instanceof OptionalValue && value.value !== undefined ? actualSize(value.value) : 1;
}

function traversed(size: number, factor = STRING_FACTOR): number {
  return Math.ceil(size * factor);
}

const firstTraversed: ActualCost = ([first]) => traversed(actualSize(first));
const firstTwice: ActualCost = ([first]) => traversed(actualSize(first), 2 * STRING_FACTOR);

/**
 * The size of the smaller string. A code point has at most two UTF-16 units, so the code points of a much longer string
 * need not be counted.
 */
function smallerSize(left: Value | undefined, right: Value | undefined): number {
  if (typeof left === "string" && typeof right === "string") {
    const [short, long] = left.length <= right.length ? [left, right] : [right, left];
    if (short.length * 2 <= long.length) return stringSize(short);
  }
  return Math.min(actualSize(left), actualSize(right));
}

const smallerTraversed: ActualCost = ([left, right]) => traversed(smallerSize(left, right));
const bothTraversed: ActualCost = ([left, right]) => traversed(actualSize(left) + actualSize(right));

const matched: ActualCost = ([text, pattern]) =>
  traversed(1 + actualSize(text)) * traversed(actualSize(pattern), REGEX_FACTOR);

const searched: ActualCost = ([text, part]) => traversed(actualSize(text)) * traversed(actualSize(part));

function traversal(value: Value | undefined): number {
  if (typeof value === "string") return Math.floor(Buffer.byteLength(value) * STRING_FACTOR);
  if (value instanceof Uint8Array) return Math.floor(value.length * STRING_FACTOR);
  if (value instanceof ListValue) return sum(value.elements().map(traversal));
  if (value instanceof MapValue) return sum(value.keys().map((key) => traversal(key) + traversal(value.find(key))));
  return 1;
}

function sum(costs: readonly number[]): number {
  let total = 0;
  for (const cost of costs) total += cost;
  return total;
}

/** The cost depends on the length of the result, which is known before the result is built. */
const joined: ActualCost = ([list, separator]) => {
  if (!(list instanceof ListValue)) return 1;
  const between = actualSize(separator ?? "") * Math.max(0, list.size - 1);
  return traversed(sum(list.elements().map(actualSize)) + between, 2 * STRING_FACTOR);
};

function containing(textOverload: string, isNetwork: boolean): (id: string) => ActualCost {
  return (id) =>
    ([network, other]) => {
      const size = actualSize(network);
      const parsed = id === textOverload ? traversed(actualSize(other)) : 0;
      return traversed(size + size) + (isNetwork ? traversed(size) + 1 : 0) + parsed;
    };
}

const containsIp = containing("cidr_contains_ip_string", false);
const containsCidr = containing("cidr_contains_cidr_string", true);

function validated([format, text]: readonly Value[]): number {
  const pattern = format instanceof OpaqueValue ? format.size : 1;
  return traversed(1 + actualSize(text)) * traversed(pattern, REGEX_FACTOR);
}

/** The cost of one authorization check; the cost limit of an expression allows two. */
export const CHECK_COST = 350_000;

/** Assumes one requirement for every two characters of a selector. */
export function selectorCost(size: number): number {
  const requirements = Math.ceil(size * 0.5);
  return LIST_BASE + traversed(size) + requirements * (LIST_BASE + STRUCT_BASE);
}

const BY_FUNCTION: ReadonlyMap<string, ActualCost> = new Map<string, ActualCost>([
  ...["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"].map((name): [string, ActualCost] => [
    name,
    ([first]) => traversal(first),
  ]),
  ...["url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "ip"].map(
    (name): [string, ActualCost] => [name, firstTraversed],
  ),
  ...["quantity", "isQuantity", "semver", "isSemver", "jsonpatch.escapeKey"].map((name): [string, ActualCost] => [
    name,
    firstTraversed,
  ]),
  ...["replace", "split", "ip.isCanonical"].map((name): [string, ActualCost] => [name, firstTwice]),
  ["join", joined],
  ["find", matched],
  ["findAll", matched],
  ["validate", validated],
  ["check", () => CHECK_COST],
  ["fieldSelector", ([, selector]) => selectorCost(actualSize(selector))],
  ["labelSelector", ([, selector]) => selectorCost(actualSize(selector))],
]);

/** Costs keyed by overload ID. They apply only if the type check has left a single overload. */
const BY_OVERLOAD: ReadonlyMap<string, ActualCost> = new Map<string, ActualCost>([
  ...[
    "starts_with_string",
    "ends_with_string",
    "string_to_bytes",
    "bytes_to_string",
    "strings_quote",
    "string_format",
  ].map((id): [string, ActualCost] => [id, firstTraversed]),
  ...["less", "greater", "less_equals", "greater_equals"].flatMap((name): [string, ActualCost][] => [
    [`${name}_string`, smallerTraversed],
    [`${name}_bytes`, smallerTraversed],
  ]),
  ["equals", smallerTraversed],
  ["not_equals", smallerTraversed],
  ["add_string", bothTraversed],
  ["add_bytes", bothTraversed],
  ["in_list", ([, list]) => actualSize(list)],
  ["matches_string", matched],
  ["contains_string", searched],
]);

function allocating(factor: number, size: number): number {
  return Math.floor(size * factor) + 1 + LIST_BASE;
}

function selfCompared(list: Value | undefined): number {
  if (!(list instanceof ListValue) || list.size === 0) return allocating(2, 0);
  const first = list.at(0);
  const isText = typeof first === "string" || first instanceof Uint8Array;
  return allocating(isText ? 2 + STRING_FACTOR : 2, list.size * list.size);
}

/** An invalid slice costs as much as one element. */
function sliceCost([list, start, end]: readonly Value[]): number {
  const isPossible =
    typeof start === "bigint" && typeof end === "bigint" && start >= 0n && start <= end && end <= actualSize(list);
  return allocating(1, isPossible ? Number(end - start) : 1);
}

const NUMBER_OF = (value: Value | undefined): number => (typeof value === "bigint" ? Math.max(0, Number(value)) : 0);

function crossed(factor: number): ActualCost {
  return ([left, right]) => 1 + Math.floor(actualSize(left) * actualSize(right) * factor);
}

const LISTS: ReadonlyMap<string, ActualCost> = new Map<string, ActualCost>([
  ["list_slice", sliceCost],
  ["list_flatten", ([list]) => allocating(1, actualSize(list))],
  ["list_flatten_int", ([list, depth]) => allocating(NUMBER_OF(depth), actualSize(list))],
  ["lists_range", ([count]) => allocating(1, NUMBER_OF(count))],
  ["list_reverse", ([list]) => allocating(1, actualSize(list))],
  ["list_distinct", ([list]) => selfCompared(list)],
  ["list_sets_contains_list", crossed(1)],
  ["list_sets_intersects_list", crossed(1)],
  ["list_sets_equivalent_list", crossed(2)],
]);

function listCost(id: string): ActualCost | undefined {
  if (id.endsWith("_sort")) return ([list]) => selfCompared(list);
  if (id.endsWith("_sortByAssociatedKeys")) return ([, keys]) => selfCompared(keys);
  return LISTS.get(id);
}

/** `id`: the overload ID; empty if the type check has left several overloads. */
export function actualCost(name: string, id: string): ActualCost {
  if (id === "cidr_ip") return ONE;
  if (name === "containsIP") return containsIp(id);
  if (name === "containsCIDR") return containsCidr(id);
  if (name === "_==_") return equalityCost;
  return listCost(id) ?? BY_FUNCTION.get(name) ?? BY_OVERLOAD.get(id) ?? ONE;
}

const equalityCost: ActualCost = (args) => (args[0] instanceof OpaqueValue ? 1 : smallerTraversed(args));

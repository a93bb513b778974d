/** The overloads of the CEL operators. */
import { compare, sizeOf } from "../values/order.ts";
import {
  Duration,
  equals,
  EvalError,
  ListValue,
  MapValue,
  NO_SUCH_OVERLOAD,
  Timestamp,
  Uint,
  type Value,
} from "../values/value.ts";
import { overload, type Overload } from "./function.ts";
import { addDurations, addTime, subtractDurations, subtractTimes } from "./time-arithmetic.ts";

const INT_OVERFLOW = new EvalError("integer overflow");
const UINT_OVERFLOW = new EvalError("unsigned integer overflow");
const DIVISION_BY_ZERO = new EvalError("division by zero");
const MODULUS_BY_ZERO = new EvalError("modulus by zero");

export function checkedInt(value: bigint): bigint | EvalError {
  return BigInt.asIntN(64, value) === value ? value : INT_OVERFLOW;
}

export function checkedUint(value: bigint): Uint | EvalError {
  return BigInt.asUintN(64, value) === value ? new Uint(value) : UINT_OVERFLOW;
}

export function addValues(left: Value, right: Value): Value {
  if (typeof left === "bigint" && typeof right === "bigint") return checkedInt(left + right);
  if (typeof left === "string" && typeof right === "string") return left + right;
  if (typeof left === "number" && typeof right === "number") return left + right;
  if (left instanceof ListValue && right instanceof ListValue) return left.concat(right);
  if (left instanceof Uint && right instanceof Uint) return checkedUint(left.value + right.value);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.concat([left, right]);
  return addToTime(left, right);
}

function addToTime(left: Value, right: Value): Value {
  if (left instanceof Duration && right instanceof Duration) return addDurations(left, right);
  if (left instanceof Timestamp && right instanceof Duration) return addTime(left, right.nanos);
  if (left instanceof Duration && right instanceof Timestamp) return addTime(right, left.nanos);
  return NO_SUCH_OVERLOAD;
}

function subtractValues(left: Value, right: Value): Value {
  if (typeof left === "bigint" && typeof right === "bigint") return checkedInt(left - right);
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (left instanceof Uint && right instanceof Uint) return checkedUint(left.value - right.value);
  if (left instanceof Duration && right instanceof Duration) return subtractDurations(left, right);
  if (left instanceof Timestamp && right instanceof Duration) return addTime(left, -right.nanos);
  if (left instanceof Timestamp && right instanceof Timestamp) return subtractTimes(left, right);
  return NO_SUCH_OVERLOAD;
}

function multiplyValues(left: Value, right: Value): Value {
  if (typeof left === "bigint" && typeof right === "bigint") return checkedInt(left * right);
  if (typeof left === "number" && typeof right === "number") return left * right;
  if (left instanceof Uint && right instanceof Uint) return checkedUint(left.value * right.value);
  return NO_SUCH_OVERLOAD;
}

function divideValues(left: Value, right: Value): Value {
  if (typeof left === "bigint" && typeof right === "bigint")
    return right === 0n ? DIVISION_BY_ZERO : checkedInt(left / right);
  if (typeof left === "number" && typeof right === "number") return left / right;
  if (left instanceof Uint && right instanceof Uint)
    return right.value === 0n ? DIVISION_BY_ZERO : new Uint(left.value / right.value);
  return NO_SUCH_OVERLOAD;
}

function moduloValues(left: Value, right: Value): Value {
  if (typeof left === "bigint" && typeof right === "bigint")
    return right === 0n ? MODULUS_BY_ZERO : checkedInt(left % right);
  if (left instanceof Uint && right instanceof Uint)
    return right.value === 0n ? MODULUS_BY_ZERO : new Uint(left.value % right.value);
  return NO_SUCH_OVERLOAD;
}

function negate(value: Value): Value {
  if (typeof value === "bigint") return checkedInt(-value);
  return typeof value === "number" ? -value : NO_SUCH_OVERLOAD;
}

function not(value: Value): Value {
  return typeof value === "boolean" ? !value : NO_SUCH_OVERLOAD;
}

function isIn(value: Value, container: Value): Value {
  if (container instanceof MapValue) {
    const found = container.find(value);
    return found instanceof EvalError ? found : found !== undefined;
  }
  if (!(container instanceof ListValue)) return NO_SUCH_OVERLOAD;
  let error: EvalError | undefined;
  for (const element of container.elements()) {
    const isEqual = equals(element, value);
    if (isEqual === true) return true;
    if (isEqual !== false) error ??= isEqual;
  }
  return error ?? false;
}

function notEquals(left: Value, right: Value): Value {
  const isEqual = equals(left, right);
  return typeof isEqual === "boolean" ? !isEqual : isEqual;
}

const ORDERED_PAIRS = [
  ["bool", "bool", "bool"],
  ["int64", "int", "int"],
  ["int64_double", "int", "double"],
  ["int64_uint64", "int", "uint"],
  ["uint64", "uint", "uint"],
  ["uint64_double", "uint", "double"],
  ["uint64_int64", "uint", "int"],
  ["double", "double", "double"],
  ["double_int64", "double", "int"],
  ["double_uint64", "double", "uint"],
  ["string", "string", "string"],
  ["bytes", "bytes", "bytes"],
  ["timestamp", "timestamp", "timestamp"],
  ["duration", "duration", "duration"],
] as const;

function ordering(symbol: string, name: string, holds: (order: number) => boolean): Overload[] {
  const call = (left: Value, right: Value): Value => {
    const order = compare(left, right);
    return typeof order === "number" ? holds(order) : order;
  };
  return ORDERED_PAIRS.map(([suffix, left, right]) =>
    overload(`${name}_${suffix}`, `:_${symbol}_(${left}, ${right}): bool`, call),
  );
}

function sizeValue(value: Value): Value {
  const size = sizeOf(value);
  return size === undefined ? new EvalError("no such overload: size") : BigInt(size);
}

/** Never called: the planner evaluates these operators itself, because it decides which operands to evaluate. */
function planned(): Value {
  return NO_SUCH_OVERLOAD;
}

export const OPERATOR_OVERLOADS: readonly Overload[] = [
  overload("conditional", ":_?_:_(bool, A, A): A", planned),
  overload("logical_and", ":_&&_(bool, bool): bool", planned),
  overload("logical_or", ":_||_(bool, bool): bool", planned),
  overload("logical_not", ":!_(bool): bool", not),
  overload("not_strictly_false", ":@not_strictly_false(bool): bool", planned),
  overload("equals", ":_==_(A, A): bool", equals),
  overload("not_equals", ":_!=_(A, A): bool", notEquals),
  overload("add_bytes", ":_+_(bytes, bytes): bytes", addValues),
  overload("add_double", ":_+_(double, double): double", addValues),
  overload("add_duration_duration", ":_+_(duration, duration): duration", addValues),
  overload("add_duration_timestamp", ":_+_(duration, timestamp): timestamp", addValues),
  overload("add_timestamp_duration", ":_+_(timestamp, duration): timestamp", addValues),
  overload("add_int64", ":_+_(int, int): int", addValues),
  overload("add_list", ":_+_(list<A>, list<A>): list<A>", addValues),
  overload("add_string", ":_+_(string, string): string", addValues),
  overload("add_uint64", ":_+_(uint, uint): uint", addValues),
  overload("divide_double", ":_/_(double, double): double", divideValues),
  overload("divide_int64", ":_/_(int, int): int", divideValues),
  overload("divide_uint64", ":_/_(uint, uint): uint", divideValues),
  overload("modulo_int64", ":_%_(int, int): int", moduloValues),
  overload("modulo_uint64", ":_%_(uint, uint): uint", moduloValues),
  overload("multiply_double", ":_*_(double, double): double", multiplyValues),
  overload("multiply_int64", ":_*_(int, int): int", multiplyValues),
  overload("multiply_uint64", ":_*_(uint, uint): uint", multiplyValues),
  overload("negate_double", ":-_(double): double", negate),
  overload("negate_int64", ":-_(int): int", negate),
  overload("subtract_double", ":_-_(double, double): double", subtractValues),
  overload("subtract_duration_duration", ":_-_(duration, duration): duration", subtractValues),
  overload("subtract_int64", ":_-_(int, int): int", subtractValues),
  overload("subtract_timestamp_duration", ":_-_(timestamp, duration): timestamp", subtractValues),
  overload("subtract_timestamp_timestamp", ":_-_(timestamp, timestamp): duration", subtractValues),
  overload("subtract_uint64", ":_-_(uint, uint): uint", subtractValues),
  ...ordering("<", "less", (order) => order < 0),
  ...ordering("<=", "less_equals", (order) => order <= 0),
  ...ordering(">", "greater", (order) => order > 0),
  ...ordering(">=", "greater_equals", (order) => order >= 0),
  overload("index_list", ":_[_](list<A>, int): A", planned),
  overload("index_map", ":_[_](map<A, B>, A): B", planned),
  overload("optional_list_index_int", ":_[_](optional<list<V>>, int): optional<V>", planned),
  overload("optional_map_index_value", ":_[_](optional<map<K, V>>, K): optional<V>", planned),
  overload("select_optional_field", ":_?._(dyn, string): optional<V>", planned),
  overload("list_optindex_optional_int", ":_[?_](list<V>, int): optional<V>", planned),
  overload("optional_list_optindex_optional_int", ":_[?_](optional<list<V>>, int): optional<V>", planned),
  overload("map_optindex_optional_value", ":_[?_](map<K, V>, K): optional<V>", planned),
  overload("optional_map_optindex_optional_value", ":_[?_](optional<map<K, V>>, K): optional<V>", planned),
  overload("in_list", ":@in(A, list<A>): bool", isIn),
  overload("in_map", ":@in(A, map<A, B>): bool", isIn),
  overload("size_bytes", "size(bytes): int", sizeValue),
  overload("bytes_size", "bytes.size(): int", sizeValue),
  overload("size_list", "size(list<A>): int", sizeValue),
  overload("list_size", "list<A>.size(): int", sizeValue),
  overload("size_map", "size(map<A, B>): int", sizeValue),
  overload("map_size", "map<A, B>.size(): int", sizeValue),
  overload("size_string", "size(string): int", sizeValue),
  overload("string_size", "string.size(): int", sizeValue),
];

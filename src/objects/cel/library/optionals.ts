/** The CEL functions on optional values. */
import { LiteralMap } from "../values/literal-map.ts";
import {
  ArrayList,
  Duration,
  EvalError,
  ListValue,
  MapValue,
  NO_SUCH_OVERLOAD,
  NO_VALUE,
  OptionalValue,
  Timestamp,
  Uint,
  type Value,
} from "../values/value.ts";
import { overload, type Overload } from "./function.ts";

/** Go's zero time, in the year 1. */
const ZERO_TIME = -62_135_596_800_000_000_000n;

function isZero(value: Value): boolean {
  if (value === null || value === false || value === "" || value === 0 || value === 0n) return true;
  if (value instanceof ListValue || value instanceof MapValue) return value.size === 0;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Duration) return value.nanos === 0n;
  if (value instanceof Timestamp) return value.nanos === ZERO_TIME;
  return value instanceof OptionalValue && value.value === undefined;
}

function contentOf(optional: OptionalValue): Value {
  return optional.value ?? (optional.value === null ? null : new EvalError("optional.none() dereference"));
}

function unwrap(list: ListValue): Value {
  const values: Value[] = [];
  for (const element of list.elements()) {
    if (!(element instanceof OptionalValue)) return NO_SUCH_OVERLOAD;
    if (element.value !== undefined) values.push(element.value);
  }
  return new ArrayList(values);
}

function elementAt(pick: (list: ListValue) => number): (list: ListValue) => Value {
  return (list) => (list.size === 0 ? NO_VALUE : new OptionalValue(list.at(pick(list))));
}

/** Never called: the planner evaluates these functions itself, because it may skip the alternative. */
function planned(): Value {
  return NO_SUCH_OVERLOAD;
}

export const OPTIONALS: readonly Overload[] = [
  overload("optional_of", ":optional.of(V): optional<V>", (value: Value) => new OptionalValue(value)),
  overload("optional_ofNonZeroValue", ":optional.ofNonZeroValue(V): optional<V>", (value: Value) =>
    isZero(value) ? NO_VALUE : new OptionalValue(value),
  ),
  overload("optional_none", ":optional.none(): optional<V>", () => NO_VALUE),
  overload("optional_value", "optional<V>.value(): V", contentOf),
  overload(
    "optional_hasValue",
    "optional<V>.hasValue(): bool",
    (optional: OptionalValue) => optional.value !== undefined,
  ),
  overload("optional_or_optional", "optional<V>.or(optional<V>): optional<V>", planned),
  overload("optional_orValue_value", "optional<V>.orValue(V): V", planned),
  overload(
    "list_last",
    "list<V>.last(): optional<V>",
    elementAt((list) => list.size - 1),
  ),
  overload(
    "list_first",
    "list<V>.first(): optional<V>",
    elementAt(() => 0),
  ),
  overload("optional_unwrap", ":optional.unwrap(list<optional<V>>): list<V>", unwrap),
  overload("optional_unwrapOpt", "list<optional<V>>.unwrapOpt(): list<V>", unwrap),
];

/** Declared only for the type checker, because loops that build maps insert entries without a call. */
export const MAP_INSERTS: readonly Overload[] = [
  overload("@mapInsert_map_key_value", ":cel.@mapInsert(map<K, V>, K, V): map<K, V>", () => new LiteralMap()),
  overload("@mapInsert_map_map", ":cel.@mapInsert(map<K, V>, map<K, V>): map<K, V>", () => new LiteralMap()),
];

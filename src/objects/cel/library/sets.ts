/** The CEL functions that treat lists as sets, such as sets.contains(). */
import { equals, type EvalError, type ListValue, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";

function has(list: ListValue, wanted: Value): boolean | EvalError {
  let error: EvalError | undefined;
  for (const element of list.elements()) {
    const isEqual = equals(element, wanted);
    if (isEqual === true) return true;
    if (isEqual !== false) error ??= isEqual;
  }
  return error ?? false;
}

function contains(list: ListValue, part: ListValue): Value {
  for (const element of part.elements()) {
    const isMember = has(list, element);
    if (isMember !== true) return isMember;
  }
  return true;
}

function equivalent(left: ListValue, right: ListValue): Value {
  const isContained = contains(left, right);
  return isContained === true ? contains(right, left) : isContained;
}

function intersects(left: ListValue, right: ListValue): Value {
  return left.elements().some((element) => has(right, element) === true);
}

export const SETS: readonly Overload[] = [
  overload("list_sets_contains_list", ":sets.contains(list<T>, list<T>): bool", contains),
  overload("list_sets_equivalent_list", ":sets.equivalent(list<T>, list<T>): bool", equivalent),
  overload("list_sets_intersects_list", ":sets.intersects(list<T>, list<T>): bool", intersects),
];

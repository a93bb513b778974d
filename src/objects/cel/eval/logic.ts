/** Evaluates logical operators, which absorb errors, and tests whether a value is in a constant list. */
import { EvalError, ListValue, NO_SUCH_OVERLOAD, Uint, type Value } from "../values/value.ts";
import type { Evaluate } from "./frame.ts";

/** `deciding`: the value of a term that determines the result, even if other terms are errors. */
function logical(terms: readonly Evaluate[], deciding: boolean): Evaluate {
  return (frame) => {
    let error: EvalError | undefined;
    for (const term of terms) {
      const value = term(frame);
      if (value === deciding) return deciding;
      if (typeof value !== "boolean") error ??= value instanceof EvalError ? value : NO_SUCH_OVERLOAD;
    }
    return error ?? !deciding;
  };
}

export function logicalAnd(terms: readonly Evaluate[]): Evaluate {
  return logical(terms, false);
}

export function logicalOr(terms: readonly Evaluate[]): Evaluate {
  return logical(terms, true);
}

/**
 * The value as an element of a Set, in which equal numbers of different types are one element; undefined if a Set
 * cannot look up the value.
 */
function memberOf(value: Value): string | bigint | number | boolean | null | undefined {
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : value;
  if (value instanceof Uint) return value.value;
  return typeof value === "object" && value !== null ? undefined : value;
}

/** Plans `arg in list`. False if the list is empty; undefined if it holds values that a Set cannot look up. */
export function membershipOf(arg: Evaluate, list: Value): Evaluate | false | undefined {
  if (!(list instanceof ListValue)) return undefined;
  if (list.size === 0) return false;
  const members = new Set(list.elements().map(memberOf));
  if (members.has(undefined)) return undefined;
  return (frame) => {
    const value = arg(frame);
    return value instanceof EvalError ? value : members.has(memberOf(value));
  };
}

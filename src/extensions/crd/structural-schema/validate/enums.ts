/** Validates that a value is one of the values of an enum. */
import { goQuote } from "../../../../meta/go-quote.ts";
import { sortedGoJson } from "../../../../meta/go-json.ts";
import type { Walk } from "./walk.ts";
import { isInt64 } from "../../../../meta/go-fmt.ts";

export type EnumCheck = (value: unknown, walk: Walk) => void;

/** Undefined if there is no enum. */
export function compileEnum(values: readonly unknown[] | undefined): EnumCheck | undefined {
  if (values === undefined || values.length === 0) return undefined;
  const scalars = new Set(values.filter((value) => typeof value !== "object"));
  const compounds = new Set(values.filter((value) => typeof value === "object" && value !== null).map(sortedGoJson));
  const supported = values.map((value) => goQuote(typeof value === "string" ? value : sortedGoJson(value))).join(", ");
  return (value, walk) => {
    if (typeof value === "object" ? value !== null && compounds.has(sortedGoJson(value)) : isScalarIn(value, scalars))
      return;
    walk.unsupported(value, supported);
  };
}

/**
 * As kubernetes: a value also matches after Go has converted it to the type in the enum, which turns a fraction into
 * its integer part and an integer into the character with that code point. Null never matches.
 */
function isScalarIn(value: unknown, scalars: ReadonlySet<unknown>): boolean {
  if (scalars.has(value)) return true;
  if (typeof value !== "number") return false;
  if (!isInt64(value)) return scalars.has(Math.trunc(value));
  return value >= 0 && value <= CODE_POINT_MAX && scalars.has(String.fromCodePoint(value));
}

const CODE_POINT_MAX = 0x10ffff;

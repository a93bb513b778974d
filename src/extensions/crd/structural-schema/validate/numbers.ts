/** Validates numbers: their range, bounds and multipleOf. */
import type { ValueValidation } from "../schema.ts";
import { goFloat, isInt64 } from "../../../../meta/go-fmt.ts";
import { isNearlyInteger } from "./types.ts";
import type { Walk } from "./walk.ts";
import type { ReleaseGates } from "../../../../objects/release-gates.ts";

export type NumberCheck = (value: number, walk: Walk) => void;

interface NumberRules {
  readonly value: ValueValidation;
  /** The type if the schema has exactly one; otherwise "". */
  readonly type: string;
  readonly format: string;
  readonly gates: ReleaseGates;
}

/** Undefined if the schema does not restrict numbers. */
export function compileNumbers(rules: NumberRules): NumberCheck | undefined {
  const range = rules.gates.isOn("CRDNumberRanges") ? rangeOf(rules.type, rules.format) : undefined;
  const { multipleOf, minimum, maximum } = rules.value;
  const checks: NumberCheck[] = [];
  if (range !== undefined) checks.push((value, walk) => isWithin(value, range) || sayRange("Checked", range, walk));
  if (multipleOf !== undefined) checks.push(multipleCheck(multipleOf, range));
  if (minimum !== undefined) checks.push(minimumCheck(minimum, rules.value.exclusiveMinimum, range));
  if (maximum !== undefined) checks.push(maximumCheck(maximum, rules.value.exclusiveMaximum, range));
  if (checks.length === 0) return undefined;
  return (value, walk) => {
    for (const check of checks) check(value, walk);
  };
}

interface Range {
  readonly type: string;
  readonly format: string;
}

/** The range of numbers that the type and format allow; undefined if they allow every number. */
function rangeOf(type: string, format: string): Range | undefined {
  if (type === "integer") return { type, format: format === "int32" || format === "int64" ? format : "" };
  return type === "number" && format === "float" ? { type, format } : undefined;
}

function isWithin(value: number, { type, format }: Range): boolean {
  if (type === "number") return Number.isFinite(Math.fround(value));
  if (format === "int32") return Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31;
  return isInt64(value);
}

function sayRange(what: string, { type, format }: Range, walk: Walk): void {
  const named = format === "" ? "(default format)" : `with format ${format}`;
  walk.general(`${what} value must be of type ${type} ${named} in ${walk.path}`);
}

/**
 * Checks that a bound itself is within the range. As kubernetes: a bound out of range is reported with every checked
 * number.
 */
function bound(what: string, limit: number, range: Range | undefined): (walk: Walk) => boolean {
  if (range === undefined || isWithin(limit, range)) return () => true;
  return (walk) => {
    sayRange(what, range, walk);
    return false;
  };
}

function maximumCheck(maximum: number, isExclusive: boolean, range: Range | undefined): NumberCheck {
  const isBoundFit = bound("Maximum boundary", maximum, range);
  return (value, walk) => {
    const isWhole = isBoundFit(walk) && isInt64(value);
    // As kubernetes: integers are compared with the integer part of the bound.
    const limit = isWhole ? Math.trunc(maximum) : maximum;
    if (isExclusive ? value < limit : value <= limit) return;
    const what = isExclusive ? "less than" : "less than or equal to";
    walk.invalid(`should be ${what} ${shownLimit(limit, isWhole)}`, value);
  };
}

function minimumCheck(minimum: number, isExclusive: boolean, range: Range | undefined): NumberCheck {
  const isBoundFit = bound("Minimum boundary", minimum, range);
  return (value, walk) => {
    const isWhole = isBoundFit(walk) && isInt64(value);
    const limit = isWhole ? Math.trunc(minimum) : minimum;
    if (isExclusive ? value > limit : value >= limit) return;
    const what = isExclusive ? "greater than" : "greater than or equal to";
    walk.invalid(`should be ${what} ${shownLimit(limit, isWhole)}`, value);
  };
}

function multipleCheck(multipleOf: number, range: Range | undefined): NumberCheck {
  const isBoundFit = bound("MultipleOf", multipleOf, range);
  return (value, walk) => {
    const isWhole = isBoundFit(walk) && isInt64(value);
    const factor = isWhole ? Math.trunc(multipleOf) : multipleOf;
    const shown = shownLimit(factor, isWhole);
    if (factor <= 0) walk.saying(`factor MultipleOf declared for ${walk.path} must be positive: ${shown}`, factor);
    else if (isWhole ? value % factor !== 0 : !isNearlyInteger(factor < 1 ? (1 / factor) * value : value / factor))
      walk.invalid(`should be a multiple of ${shown}`, value);
  };
}

function shownLimit(limit: number, isWhole: boolean): string {
  return isWhole ? String(BigInt(limit)) : goFloat(limit);
}

/** Arithmetic with costs and sizes that are ranges from minimum to maximum. */

/** Upper bound of every cost: the end of the 64-bit range. */
export const COST_MAX = 2 ** 64;

export interface Range {
  readonly min: number;
  readonly max: number;
}

export const UNKNOWN: Range = { min: 0, max: COST_MAX };
export const ZERO: Range = { min: 0, max: 0 };
export const ONE: Range = { min: 1, max: 1 };

export function fixed(size: number): Range {
  return { min: size, max: size };
}

function limited(value: number): number {
  return Math.min(value, COST_MAX);
}

export function add(left: Range, right: Range): Range {
  return { min: limited(left.min + right.min), max: limited(left.max + right.max) };
}

export function addAll(ranges: readonly Range[]): Range {
  return ranges.reduce(add, ZERO);
}

export function multiply(left: Range, right: Range): Range {
  return { min: limited(left.min * right.min), max: limited(left.max * right.max) };
}

/** Multiplies and rounds up. */
export function scale(range: Range, factor: number): Range {
  return { min: limited(Math.ceil(range.min * factor)), max: limited(Math.ceil(range.max * factor)) };
}

export function union(left: Range, right: Range): Range {
  return { min: Math.min(left.min, right.min), max: Math.max(left.max, right.max) };
}

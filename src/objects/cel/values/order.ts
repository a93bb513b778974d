/** Compares values, and computes their size. */
import { Duration, EvalError, ListValue, MapValue, NO_SUCH_OVERLOAD, Timestamp, Uint, type Value } from "./value.ts";

const NOT_ORDERED = new EvalError("NaN values cannot be ordered");
const SURROGATE = /[\ud800-\udfff]/;

function sign(isLess: boolean, isEqual: boolean): number {
  if (isLess) return -1;
  return isEqual ? 0 : 1;
}

/** Compares by code points, not by UTF-16 units. */
function compareStrings(left: string, right: string): number {
  if (SURROGATE.test(left) || SURROGATE.test(right)) return Buffer.compare(Buffer.from(left), Buffer.from(right));
  return sign(left < right, left === right);
}

function asNumber(value: Value): bigint | number | undefined {
  if (typeof value === "bigint" || typeof value === "number") return value;
  return value instanceof Uint ? value.value : undefined;
}

function compareNumbers(left: bigint | number, right: bigint | number): number | EvalError {
  if (Number.isNaN(left) || Number.isNaN(right)) return NOT_ORDERED;
  // oxlint-disable-next-line eqeqeq -- int and double are compared by value
  return sign(left < right, left == right);
}

/** -1, 0 or 1, or an error if the values have no order. */
export function compare(left: Value, right: Value): number | EvalError {
  if (typeof left === "string" && typeof right === "string") return compareStrings(left, right);
  const mine = asNumber(left);
  const theirs = asNumber(right);
  if (mine !== undefined && theirs !== undefined) return compareNumbers(mine, theirs);
  if (typeof left === "boolean" && typeof right === "boolean") return Number(left) - Number(right);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right);
  if (left instanceof Timestamp && right instanceof Timestamp)
    return sign(left.nanos < right.nanos, left.nanos === right.nanos);
  if (left instanceof Duration && right instanceof Duration)
    return sign(left.nanos < right.nanos, left.nanos === right.nanos);
  return NO_SUCH_OVERLOAD;
}

/** The number of code points. */
export function stringSize(text: string): number {
  let size = text.length;
  for (let index = 0; index < text.length - 1; index++) {
    const code = text.charCodeAt(index);
    if (code < 0xd800 || code > 0xdbff) continue;
    const next = text.charCodeAt(index + 1);
    if (next < 0xdc00 || next > 0xdfff) continue;
    size--;
    index++;
  }
  return size;
}

/** Undefined for values that have no size. */
export function sizeOf(value: Value): number | undefined {
  if (typeof value === "string") return stringSize(value);
  if (value instanceof ListValue || value instanceof MapValue) return value.size;
  return value instanceof Uint8Array ? value.length : undefined;
}

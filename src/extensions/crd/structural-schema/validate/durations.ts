/**
 * Validates the format "duration", which kubernetes accepts in two notations: Go's, and any text that contains a number
 * with a unit.
 */

const TOKEN = /\d+|[A-Za-z\u00b5\u03bc]+|[\t\n\f\r ]+|[^]/g;
const DIGITS = /^\d/;
const SPACE = /^[\t\n\f\r ]/;
const GO_UNITS: ReadonlySet<string> = new Set(["ns", "us", "µs", "μs", "ms", "s", "m", "h"]);
const UNIT = /^(?:ns|nano.*|us|[\u00b5\u03bc]s|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/;
const INT64_MAX = 2n ** 63n - 1n;
const DIGITS_MAX = 100;

export function isDuration(text: string): boolean {
  const tokens = text.match(TOKEN) ?? [];
  return isGoDuration(tokens) || hasNumberWithUnit(tokens);
}

/** DIFFERS: a sum of more than 290 years is accepted; Go rejects it. */
function isGoDuration(signed: readonly string[]): boolean {
  const tokens = /^[+-]$/.test(signed[0] ?? "") ? signed.slice(1) : signed;
  if (tokens.length === 0) return false;
  if (/^0+$/.test(tokens.join(""))) return tokens.join("") === "0";
  let at = 0;
  while (at < tokens.length) {
    const end = numberEnd(tokens, at);
    if (end === undefined || !GO_UNITS.has(tokens[end] ?? "")) return false;
    at = end + 1;
  }
  return true;
}

/**
 * Index of the token after the number that starts at `at`, with or without a fraction; undefined if there is no number.
 */
function numberEnd(tokens: readonly string[], at: number): number | undefined {
  const whole = digitsAt(tokens, at);
  const point = whole === undefined ? at : at + 1;
  const fraction = tokens[point] === "." ? digitsAt(tokens, point + 1) : undefined;
  if ((whole === undefined && fraction === undefined) || !isInt64(whole ?? "0")) return undefined;
  if (tokens[point] !== ".") return point;
  return fraction === undefined ? point + 1 : point + 2;
}

function hasNumberWithUnit(tokens: readonly string[]): boolean {
  let isFound = false;
  for (let at = 0; at < tokens.length; at++) {
    const factor = digitsAt(tokens, at);
    if (factor === undefined) continue;
    const unit = tokens[SPACE.test(tokens[at + 1] ?? "") ? at + 2 : at + 1] ?? "";
    if (!/^[A-Za-z\u00b5]/.test(unit)) continue;
    if (!isInt64(factor)) return false;
    isFound ||= UNIT.test(unit.toLowerCase());
  }
  return isFound;
}

function digitsAt(tokens: readonly string[], at: number): string | undefined {
  const token = tokens[at];
  return token !== undefined && DIGITS.test(token) ? token : undefined;
}

function isInt64(digits: string): boolean {
  return digits.length < 19 || (digits.length < DIGITS_MAX && BigInt(digits) <= INT64_MAX);
}

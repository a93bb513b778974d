/** Validates the length and pattern of strings. */
import { RE2JS } from "re2js";
import type { ValueValidation } from "../schema.ts";
import type { Walk } from "./walk.ts";

export type TextCheck = (text: string, walk: Walk) => void;

/** Undefined if the schema does not restrict strings. The check reports only the first error. */
export function compileTexts({ maxLength, minLength, pattern }: ValueValidation): TextCheck | undefined {
  if (maxLength === undefined && minLength === undefined && pattern === undefined) return undefined;
  const matches = pattern === undefined ? undefined : compilePattern(pattern);
  return (text, walk) => {
    if (maxLength !== undefined && text.length > maxLength && characters(text) > maxLength) walk.tooLong(maxLength);
    else if (minLength !== undefined && text.length < 2 * minLength && characters(text) < minLength)
      walk.invalid(`should be at least ${minLength} chars long`, text);
    else matches?.(text, walk);
  };
}

/** The number of code points, which Go counts; JavaScript counts UTF-16 code units. */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function compilePattern(pattern: string): TextCheck {
  const { compiled, problem } = tryCompile(pattern);
  const shown = problem === undefined ? pattern : `${pattern}, but pattern is invalid: ${problem}`;
  return (text, walk) => {
    if (compiled?.test(text) !== true) walk.invalid(`should match '${shown}'`, text);
  };
}

/** CRDs with invalid patterns are rejected, but a store that another server has written may contain them. */
function tryCompile(pattern: string): { readonly compiled?: RE2JS; readonly problem?: string } {
  try {
    return { compiled: RE2JS.compile(pattern) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}
